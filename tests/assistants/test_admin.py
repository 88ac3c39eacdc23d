"""Operators see connected apps and can end their access; no page shows a token."""

import pytest
from django.contrib.auth.models import Permission

from assistants.models import Client, Grant
from audit.models import AuditEvent, Kind
from tests.assistants.conftest import send

pytestmark = pytest.mark.django_db


def test_lists_and_pages_show_no_token(operator, client, pair):
    grant = Grant.objects.get()
    for path in ("grant/", f"grant/{grant.pk}/change/", "client/", f"client/{client.pk}/change/"):
        page = operator.get(f"/admin/assistants/{path}").content.decode()
        assert "Testbench" in page
        assert grant.authorization_code not in page
        assert grant.token_response()["refresh_token"] not in page


@pytest.mark.parametrize(("model", "action"), [(Grant, "end"), (Client, "end_grants")])
def test_operator_ends_a_grant(operator, assistant, model, action):
    row = model.objects.get()
    form = {"action": action, "_selected_action": [str(row.pk)], "post": "yes"}

    page = operator.post(f"/admin/assistants/{model._meta.model_name}/", form, follow=True)

    assert "Ended access: " in page.content.decode()
    assert send(assistant, "tools/list").status_code == 401
    assert AuditEvent.objects.get(kind=Kind.ASSISTANT_ENDED).actor_email == "op@example.com"


def test_staff_without_the_permission_cannot_end_a_grant(operator, pair, new_user):
    staff = new_user("staff@example.com", is_staff=True)
    staff.user_permissions.add(Permission.objects.get(codename="view_grant"))
    operator.force_login(staff)

    page = operator.get("/admin/assistants/grant/").content.decode()

    assert "Testbench" in page
    assert "End access" not in page
