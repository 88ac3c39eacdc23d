"""`manage.py createcompany` and `manage.py invite`."""

import json

import pytest
from django.core.management import call_command

from accounts.models import User
from audit.models import AuditEvent
from tests.invitations.conftest import PERSON
from tests.mailbox import mailed, mailed_token

pytestmark = pytest.mark.django_db


def test_first_admin_is_invited_for_a_week_and_comes_in(capsys, api):
    call_command("createcompany", "Engines", "Charles@Example.com", "--json")
    ids = json.loads(capsys.readouterr().out)
    answer = api.post("/invitations/accept", PERSON | {"token": mailed_token()})

    user = answer.json()["user"]
    assert answer.status_code == 200
    assert (user["role"], user["account_id"]) == ("admin", ids["account_id"])
    steps = ["company.created", "invitation.created", "invitation.accepted"]
    assert list(AuditEvent.objects.order_by("id").values_list("kind", flat=True)) == steps
    assert set(AuditEvent.objects.values_list("subject", flat=True)) == {user["email"]}


@pytest.mark.parametrize(
    ("language", "welcome", "life"),
    [
        ("en", "Your company “Engines” is set up.", "expires in 7 days."),
        ("de", "Ihr Unternehmen „Engines“ ist eingerichtet.", "7 Tage gültig"),
        ("sv", "Ditt företag ”Engines” är klart.", "i 7 dagar"),
    ],
)
def test_mail_to_the_first_admin_welcomes_in_their_language(db, language, welcome, life):
    call_command("createcompany", "Engines", "charles@example.com", "--language", language)

    assert welcome in mailed().body
    assert life in mailed().body


def test_invitation_of_a_member_names_no_admin_account(db):
    call_command("createcompany", "Engines", "charles@example.com")
    call_command("invite", "Engines", "bob@example.com")

    assert "You've been invited to join “Engines”." in mailed().body


def test_member_of_a_company_without_an_admin_is_no_last_admin(ada, bob):
    User.objects.filter(pk=ada.pk).update(role="member")

    new_values, _ = bob.update_role_or_active(
        User.objects.create_superuser("op@x.ee"), is_active=False
    )
    assert new_values == {"is_active": False}


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
