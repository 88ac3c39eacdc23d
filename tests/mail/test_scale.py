"""Mails and sign-up links, of which strangers can cause any number, are searched by index."""

import pytest
from django.db import connection
from django.db.models import Q

from mail.outbox import OutgoingMail
from signin.models import SignupLink

pytestmark = pytest.mark.live

MANY = 5_000


@pytest.mark.django_db
@pytest.mark.parametrize("model", [OutgoingMail, SignupLink])
def test_outbox_and_sign_up_links_are_searched_by_index(model):
    model.objects.bulk_create(model(email=f"new{n}@example.com") for n in range(MANY))
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {model._meta.db_table}")

    for condition in (
        Q(email__startswith="new7@"),
        Q(email__in=["new7@example.com", "a@b.example"]),
    ):
        rows = model.objects.filter(condition)
        assert rows.count() == 1
        assert "Seq Scan" not in rows.explain()
