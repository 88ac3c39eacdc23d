"""Erasure, and what bears the person's name in rows of others: mails, the back office's log."""

import pytest
from django.contrib.admin.models import LogEntry
from django.core import mail
from django.utils import timezone

from accounts.models import Account, Consultant
from audit.actors import COMMAND
from audit.models import AuditEvent
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from privacy.models import Erasure
from tests.clients import API
from tests.privacy.conftest import NAMES, finish, unchanged
from tests.privacy.helpers import dump, found
from throttling.models import Lockout

pytestmark = pytest.mark.django_db
NAME = " ".join(NAMES)


def test_operator_who_changed_a_colleagues_email_is_not_taken_for_them(new_user):
    """Nor is what they were called before forgotten over it."""
    operators = {
        "account": Account.objects.get_or_create_operators(),
        "is_staff": True,
        "is_superuser": True,
    }
    boss = new_user("former@example.com", **operators)
    colleague = new_user("theirs@example.com", **operators)
    boss.change_address(colleague, "boss@example.com")
    boss.refresh_from_db()
    colleague.change_address(boss, "another@example.com")
    Lockout.objects.create(email="theirs@example.com", failures=1, failed_at=timezone.now())

    Erasure.objects.erase_user(boss, COMMAND)
    finish()

    assert "former@example.com" not in dump()
    assert (
        AuditEvent.objects.get(subject="another@example.com").detail["old"] == "theirs@example.com"
    )
    assert Lockout.objects.filter(email="theirs@example.com").exists()


def profile(operator, account, name, **fields):
    operator.post("/admin/accounts/consultant/add/", {"account": account.pk, "name": name})
    made = Consultant.objects.get(name=name)
    operator.post(f"/admin/accounts/consultant/{made.pk}/change/", {"name": name} | fields)


def test_log_forgets_the_profiles_name(operator, zeb):
    profile(operator, zeb.account, NAME, user=zeb.pk)
    assert AuditEvent.objects.filter(subject=NAME).count() == 2
    Erasure.objects.erase_user(zeb, COMMAND)
    finish()

    assert found(zeb, dump()) == []


def test_changes_in_the_back_office_are_in_one_log(operator, ada):
    page = f"/admin/accounts/account/{ada.account_id}/"
    operator.post(f"{page}change/", {"name": "Difference"})
    history = operator.get(f"{page}history/", follow=True).content.decode()

    assert not LogEntry.objects.exists()
    assert "changed in the back office" in history
    assert AuditEvent.objects.get().account_id == ada.account_id  # the company sees it


def test_log_forgets_a_company_that_left(operator, ada, as_ada):
    profile(operator, ada.account, "Consultina")
    operator.post(f"/admin/accounts/account/{ada.account_id}/change/", {"name": "Difference"})
    told = {"account": ada.account_id, "email": "in@example.net", "role": "member"}
    operator.post("/admin/invitations/invitation/add/", told | {"language": "en"})
    as_ada.post("/invitations", {"email": "out@example.net"})
    for rows in (Invitation.objects, OutgoingMail.objects):  # as they are pruned after a month
        rows.filter(email="out@example.net").delete()
    Erasure.objects.delete_company(Account.objects.get(pk=ada.account_id), COMMAND)
    finish()

    words = ["Consultina", "Difference", "in@example.net", "out@example.net", ada.email]
    assert [line for line in dump().splitlines() if any(word in line for word in words)] == []


def test_trail_of_a_company_of_the_same_name_stays(operator, ada, as_eve, eve):
    as_eve.patch("/account", {"name": ada.account.name})
    page = f"/admin/accounts/account/{ada.account_id}/change/"
    operator.post(page, {"name": "Difference"})
    operator.post(page, {"name": ada.account.name})
    with unchanged(AuditEvent.objects.filter(account_id=eve.account_id)):
        Erasure.objects.delete_company(Account.objects.get(pk=ada.account_id), COMMAND)
        finish()

    others = AuditEvent.objects.exclude(account_id=eve.account_id)
    assert not others.filter(subject=ada.account.name).exists()


@pytest.mark.parametrize("name", ["Operators", "op@example.com", "company.changed", "name"])
def test_operators_log_stays_whatever_a_deleted_company_was_called(operator, ada, as_ada, name):
    operators = Account.objects.get_or_create_operators()
    as_ada.patch("/account", {"name": name})
    for called in ("Others", "Operators"):
        operator.post(f"/admin/accounts/account/{operators.pk}/change/", {"name": called})
    API().post("/auth/login", {"email": "op@example.com", "password": "wrong password"})
    others = AuditEvent.objects.exclude(account_id=ada.account_id)
    assert others.count() >= 3
    with unchanged(others):
        Erasure.objects.delete_company(Account.objects.get(pk=ada.account_id), COMMAND)
        finish()


def test_mail_by_which_another_company_invites_the_same_address_is_sent(ada, eve):
    for inviter in (ada, eve):
        Invitation.objects.invite(inviter, "wanted@example.net")
    Erasure.objects.delete_company(Account.objects.get(pk=ada.account_id), COMMAND)
    finish()

    (told,) = [message for message in mail.outbox if message.to == ["wanted@example.net"]]
    assert "Eavesdroppers" in told.body
