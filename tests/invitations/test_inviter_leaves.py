"""Invitations of an admin who is demoted or deactivated are revoked."""

import json

import pytest
from django.core import mail

from accounts.models import Role, User
from audit.models import AuditEvent, Kind
from invitations.models import Invitation
from tests.cast import PASSWORD
from tests.clients import bearer
from tests.invitations.conftest import PERSON
from tests.mailbox import mailed_token, visible
from tests.races import race
from worker.rounds import Worker

pytestmark = pytest.mark.django_db
CHANGES = [{"is_active": False}, {"role": "member"}]


@pytest.fixture
def mallory(ada, new_user):
    """Another admin of Ada's company."""
    return new_user("mallory@example.com", first_name="Mal", role=Role.ADMIN, account=ada.account)


@pytest.mark.parametrize("change", CHANGES)
def test_open_invitations_of_an_admin_who_leaves_are_revoked(api, as_ada, mallory, change):
    Invitation.objects.invite(mallory, "private@example.net", Role.ADMIN)
    token = mailed_token()

    answer = as_ada.patch(f"/users/{mallory.pk}", change)
    refused = api.post("/invitations/accept", PERSON | {"token": token})

    assert answer.json()["revoked_invitations"] == ["private@example.net"]
    assert (refused.status_code, refused.json()) == (400, {"error": "invalid or expired token"})
    assert Invitation.objects.get().status == "revoked"
    assert AuditEvent.objects.get(kind=Kind.INVITATION_REVOKED).actor_email == "ada@example.com"


def test_other_admins_are_mailed_the_revoked_invitations(as_ada, ada, mallory, bob):
    Invitation.objects.invite(mallory, "private@example.net")
    Worker().work_round()
    mail.outbox.clear()
    as_ada.patch(f"/users/{mallory.pk}", {"is_active": False})
    Worker().work_round()

    notices = {message.to[0]: message for message in mail.outbox}
    assert notices.keys() == {ada.email, mallory.email}
    assert "\nprivate@example.net" in visible(notices[ada.email].body)
    assert "Ada Lovelace has deactivated your account" in notices[mallory.email].body


def test_invitations_of_others_and_accepted_ones_stay(api, as_ada, ada, mallory):
    Invitation.objects.invite(mallory, "in@example.net")
    api.post("/invitations/accept", PERSON | {"token": mailed_token()})
    Invitation.objects.invite(ada, "other@example.net")

    answer = as_ada.patch(f"/users/{mallory.pk}", {"role": "member"})

    assert "revoked_invitations" not in answer.json()
    statuses = dict(Invitation.objects.values_list("email", "revoked_at"))
    assert statuses == {"in@example.net": None, "other@example.net": None}


@pytest.mark.parametrize("change", CHANGES)
def test_acceptance_fails_if_the_inviter_may_no_longer_invite(api, mallory, change):
    Invitation.objects.invite(mallory, "private@example.net", Role.ADMIN)
    token = mailed_token()
    User.objects.filter(pk=mallory.pk).update(**change)  # as before there was a rule

    assert api.post("/invitations/accept", PERSON | {"token": token}).status_code == 400
    assert not User.objects.filter(email="private@example.net").exists()
    assert Invitation.objects.get().status == "pending"  # not used up


def test_former_superusers_invitation_creates_no_operator(api):
    boss = User.objects.create_superuser("boss@example.com", PASSWORD)
    Invitation.objects.invite(boss, "private@example.net", Role.ADMIN)
    token = mailed_token()
    User.objects.filter(pk=boss.pk).update(is_superuser=False)

    assert api.post("/invitations/accept", PERSON | {"token": token}).status_code == 400


def test_only_active_admins_of_the_company_and_superusers_may_invite(ada, bob, mallory, new_user):
    User.objects.filter(pk=mallory.pk).update(is_active=False)
    new_user("other@example.com", role=Role.ADMIN)
    boss = User.objects.create_superuser("boss@example.com", PASSWORD)

    assert {*User.objects.may_invite_to(ada.account)} == {ada, boss}
    assert [*User.objects.may_invite_to(boss.account)] == [boss]


def test_change_of_role_is_mailed_to_its_user_once(as_ada, bob):
    for _ in range(2):
        as_ada.patch(f"/users/{bob.pk}", {"role": "admin"})
    Worker().work_round()

    (message,) = mail.outbox
    assert (message.to, message.subject) == ([bob.email], "You're now an admin of your company")
    assert "Ada Lovelace has made you an admin" in message.body


def test_back_office_names_what_it_revoked(operator, ada, mallory):
    Invitation.objects.invite(mallory, "private@example.net")
    data = {"action": "deactivate", "_selected_action": [mallory.pk], "post": "yes"}

    page = operator.post("/admin/accounts/user/", data, follow=True).content.decode()

    assert "Revoked open invitations from mallory@example.com: private@example.net." in page
    assert Invitation.objects.get().status == "revoked"


@pytest.mark.django_db(transaction=True)
def test_deactivation_of_the_inviter_races_with_acceptance(api, ada, mallory):
    """The invited person either joins before the deactivation, or not at all."""
    for number in range(10):
        User.objects.filter(pk=mallory.pk).update(is_active=True)
        email = f"private{number}@example.net"
        Invitation.objects.invite(User.objects.get(pk=mallory.pk), email, Role.ADMIN)
        token = Invitation.objects.get(email=email).token
        client = bearer(ada)

        accepted, changed = race(
            lambda token=token: api.post("/invitations/accept", PERSON | {"token": token}),
            lambda client=client: client.patch(f"/users/{mallory.pk}", {"is_active": False}),
        )

        revoked = json.loads(changed.content).get("revoked_invitations") == [email]
        assert (accepted.status_code == 200) is not revoked
        assert User.objects.filter(email=email).exists() is not revoked
