"""DELETE /invitations/{id}: the link ends."""

import pytest

from invitations.models import Invitation
from tests.invitations.conftest import accept, revoke
from worker.rounds import Worker

pytestmark = pytest.mark.django_db


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
