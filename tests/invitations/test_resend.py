"""POST /invitations/{id}/resend: a new link and a new expiry; DELETE /invitations/{id}: its end."""

import datetime

import pytest

from audit.models import AuditEvent, Kind
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from tests.clients import bearer
from tests.invitations.conftest import PERSON, accept, resend, revoke
from tests.mailbox import mailed, mailed_token
from worker.rounds import Worker

pytestmark = pytest.mark.django_db
DAY = datetime.timedelta(days=1)


def test_link_sent_again_works_and_the_old_one_does_not(as_ada, api, invitation):
    old = mailed_token()
    assert resend(as_ada, invitation).status_code == 200
    assert AuditEvent.objects.get(kind=Kind.INVITATION_RESENT).subject == invitation.email
    new = mailed_token()

    assert api.post("/invitations/accept", PERSON | {"token": old}).status_code == 400
    assert api.post("/invitations/accept", PERSON | {"token": new}).status_code == 200


def test_resent_invitation_expires_later(ada, invitation, time_machine):
    now = invitation.created_at + 3 * DAY
    time_machine.move_to(now, tick=False)

    body = resend(bearer(ada), invitation).json()

    assert Invitation.objects.get().expires_at == now + 7 * DAY
    assert body["status"] == "pending"
    assert mailed().body.count("7 days") == 1


def test_expired_invitation_works_after_it_is_sent_again(
    as_ada, ada, invitation, time_machine, api
):
    time_machine.move_to(invitation.expires_at)
    assert accept(api, invitation).status_code == 400
    Invitation.objects.filter(pk=invitation.pk).first().resend(ada)

    assert accept(api, invitation).status_code == 200


@pytest.mark.parametrize("end", ["used_at", "revoked_at"])
def test_closed_invitation_is_not_sent_again(as_ada, invitation, end):
    Invitation.objects.update(**{end: invitation.created_at})

    for call in (resend, revoke):
        response = call(as_ada, invitation)
        assert response.status_code == 409
        assert response.json() == {"error": "invitation is no longer open"}
    assert OutgoingMail.objects.count() == 1  # the first one


def test_expired_invitation_is_not_sent_again_beside_a_newer_one(as_ada, ada, invitation):
    Invitation.objects.update(expires_at=invitation.created_at)
    Invitation.objects.invite(ada, invitation.email)

    assert resend(as_ada, invitation).json() == {"error": "already invited"}


def test_member_is_not_invited_again(as_ada, ada, invitation, new_user):
    new_user(invitation.email, account=ada.account)

    assert resend(as_ada, invitation).json() == {"error": "already a member"}


def test_link_of_a_revoked_invitation_is_refused(as_ada, api, invitation):
    response = revoke(as_ada, invitation)

    assert (response.status_code, response.content) == (204, b"")
    assert Invitation.objects.get().status == "revoked"
    assert accept(api, invitation).json() == {"error": "invalid or expired token"}


def test_waiting_mail_of_a_revoked_invitation_is_not_sent(as_ada, invitation, mailoutbox):
    revoke(as_ada, invitation)
    Worker().work_round()

    assert mailoutbox == []


def test_expired_invitation_is_revoked(as_ada, invitation):
    Invitation.objects.update(expires_at=invitation.created_at)

    assert revoke(as_ada, invitation).status_code == 204
    assert Invitation.objects.get().status == "revoked"
