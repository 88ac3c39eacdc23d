"""DELETE /invitations/{id}: the link dies."""

from functools import partial

import pytest

from invitations.models import Invitation
from tests.conftest import race
from tests.invitations.conftest import accept

pytestmark = pytest.mark.django_db


def revoke(api, invitation):
    return api.delete(f"/invitations/{invitation.pk}")


def test_revoked_link_is_refused(as_ada, api, invitation):
    response = revoke(as_ada, invitation)

    assert (response.status_code, response.content) == (204, b"")
    assert Invitation.objects.get().status == "revoked"
    assert accept(api, invitation).json() == {"error": "invalid or expired token"}


def test_mail_that_waits_is_not_sent(as_ada, invitation, mailoutbox):
    from mail.worker import Worker

    revoke(as_ada, invitation)
    Worker().work_round()

    assert mailoutbox == []


def test_expired_invitation_is_revoked(as_ada, invitation):
    Invitation.objects.update(expires_at=invitation.created_at)

    assert revoke(as_ada, invitation).status_code == 204
    assert Invitation.objects.get().status == "revoked"


@pytest.mark.parametrize("end", ["used_at", "revoked_at"])
def test_closed_invitation_is_not_revoked(as_ada, invitation, end):
    Invitation.objects.update(**{end: invitation.created_at})

    response = revoke(as_ada, invitation)

    assert response.status_code == 409
    assert response.json() == {"error": "invitation is no longer open"}


@pytest.mark.django_db(transaction=True)
def test_race_with_an_acceptance_has_one_winner(as_ada, invitation, api):
    accepted, revoked = race(partial(accept, api, invitation), partial(revoke, as_ada, invitation))

    assert (accepted.status_code, revoked.status_code) in {(200, 409), (400, 204)}
