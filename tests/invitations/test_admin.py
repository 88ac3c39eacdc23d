"""Invitations in the admin site: sent, sent again and revoked under the rules of the API."""

import pytest
from django.core import mail

from accounts.models import Consultant
from audit.models import AuditEvent
from invitations.models import Invitation
from worker.rounds import Worker

pytestmark = pytest.mark.django_db
LIST = "/admin/invitations/invitation/"


def act(operator, action, *invitations):
    form = {
        "action": action,
        "_selected_action": [str(invitation.pk) for invitation in invitations],
    }
    form["post"] = "yes"
    return operator.post(LIST, form, follow=True).content.decode()


def add(operator, account, email, **fields):
    body = {"account": account.pk, "email": email, "role": "member", "language": "sv"}
    return operator.post(f"{LIST}add/", body | fields)


def test_support_invites_a_new_user(operator, ada):
    assert operator.get("/admin/accounts/user/add/").url == f"{LIST}add/"
    assert operator.get(f"{LIST}add/").status_code == 200
    assert add(operator, ada.account, "Charles@Example.com").status_code == 302
    Worker().work_round()

    assert mail.outbox[0].to == ["charles@example.com"]
    record = AuditEvent.objects.get()
    assert (record.kind, record.subject) == ("invitation.created", "charles@example.com")
    assert (record.actor_email, record.account_id) == ("op@example.com", ada.account_id)


@pytest.mark.parametrize("email", ["ADA@example.com", "charles@example.com", "\u00fc@example.com"])
def test_invitation_form_refuses_what_the_api_refuses(operator, ada, invitation, email):
    answer = add(operator, ada.account, email)

    assert list(answer.context["adminform"].form.errors) == ["email"]
    assert (Invitation.objects.count(), AuditEvent.objects.count()) == (1, 1)


def test_invitation_form_refuses_what_the_daily_limit_refuses(operator, ada, invitation, settings):
    settings.INVITATIONS_PER_DAY = 1
    answer = add(operator, ada.account, "c@example.com")

    assert answer.context["adminform"].form.errors["email"] == [
        "Refused: no more invitations today."
    ]
    assert Invitation.objects.get() == invitation


def test_invitation_form_refuses_another_companys_consultant(operator, ada, eve):
    consultant = Consultant.objects.create(account=eve.account)
    answer = add(operator, ada.account, "c@example.com", consultant=consultant.pk)

    assert list(answer.context["adminform"].form.errors) == ["consultant"]


def test_send_again_counts_and_names_what_is_refused(operator, ada, invitation, api):
    closed = Invitation.objects.invite(ada, "closed@example.com")
    closed.revoke(ada)
    old = invitation.token
    page = act(operator, "resend", invitation, closed)

    assert "will be sent again, with a new link." in page
    assert "Invitation to closed@example.com: invitation is no longer open." in page
    assert Invitation.objects.get(pk=invitation.pk).token != old
    assert AuditEvent.objects.filter(kind="invitation.resent").count() == 1


def test_send_again_says_when_the_address_has_had_its_mails(operator, invitation, settings):
    settings.MAIL_PER_ADDRESS_PER_HOUR = 1
    page = act(operator, "resend", invitation)

    assert f"Invitation to {invitation.email}: too many mails to this address." in page
    assert "will be sent again" not in page
    assert not AuditEvent.objects.filter(kind="invitation.resent").exists()


def test_revoke_action_ends_the_link_and_counts(operator, invitation):
    assert f"to {invitation.email} was revoked." in act(operator, "revoke", invitation)
    assert "was revoked." not in act(operator, "revoke", invitation)

    assert Invitation.objects.get().status == "revoked"
    assert AuditEvent.objects.get(kind="invitation.revoked").subject == invitation.email
