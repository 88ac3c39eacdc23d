"""`manage.py invite`."""

import pytest
from django.core.management import call_command

from audit.models import AuditEvent
from tests.invitations.conftest import PERSON
from tests.mailbox import mailed_token

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("by", ["name", "id"])
def test_invited_address_becomes_a_user_of_the_company(ada, api, capsys, by):
    company = ada.account.name if by == "name" else str(ada.account_id)
    call_command("invite", company, "Charles@Example.com", "--role", "admin")

    assert "to Analytical Engines." in capsys.readouterr().out
    answer = api.post("/invitations/accept", PERSON | {"token": mailed_token()})
    assert (answer.status_code, answer.json()["user"]["role"]) == (200, "admin")
    assert answer.json()["user"]["account_id"] == str(ada.account_id)
    record = AuditEvent.objects.get(kind="invitation.created")
    assert (record.subject, record.account_id) == ("charles@example.com", ada.account_id)
