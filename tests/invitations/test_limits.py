"""How many invitations go to an address in an hour, and out of a company in a day."""

import datetime
from functools import partial

import pytest

from accounts.models import User
from audit.models import AuditEvent, Kind
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from tests.clients import API, bearer
from tests.invitations.conftest import resend
from tests.races import race
from worker.rounds import Worker

pytestmark = pytest.mark.django_db
START = datetime.datetime(2030, 1, 1, 12, tzinfo=datetime.UTC)
TOO_MANY = {"error": "too many mails to this address"}
NO_MORE = {"error": "no more invitations today"}


def invite(api, email="charles@example.com"):
    return api.post("/invitations", {"email": email})


def test_address_gets_at_most_its_hourly_mails_from_a_company(as_ada, invitation):
    answers = [resend(as_ada, invitation) for _ in range(4)]
    before = Invitation.objects.values().get()

    refused = resend(as_ada, invitation)

    assert [answer.status_code for answer in answers] == [200] * 4
    assert (refused.status_code, refused.json()) == (409, TOO_MANY)
    assert Invitation.objects.values().get() == before
    assert OutgoingMail.objects.count() == 5
    assert AuditEvent.objects.filter(kind=Kind.INVITATION_RESENT).count() == 4


def test_revoking_does_not_reset_the_hourly_limit(as_ada, settings):
    settings.MAIL_PER_ADDRESS_PER_HOUR = 1
    as_ada.delete(f"/invitations/{invite(as_ada).json()['id']}")

    assert invite(as_ada, "Charles@example.com").json() == TOO_MANY
    assert invite(as_ada, "other@example.com").status_code == 201


def test_hour_of_the_limit_begins_with_its_first_mail(ada, time_machine, settings):
    settings.MAIL_PER_ADDRESS_PER_HOUR = 1
    time_machine.move_to(START, tick=False)
    invitation = Invitation.objects.invite(ada, "charles@example.com")
    statuses = []
    for seconds in (3599, 3600):
        time_machine.move_to(START + datetime.timedelta(seconds=seconds), tick=False)
        statuses.append(resend(bearer(ada), invitation).status_code)

    assert statuses == [409, 200]


def test_daily_limit_also_counts_invitations_sent_again(as_ada, invitation, settings):
    settings.INVITATIONS_PER_DAY = 3
    answers = [resend(as_ada, invitation), invite(as_ada, "a@example.com")]

    refused = [invite(as_ada, "b@example.com"), resend(as_ada, invitation)]

    assert [answer.status_code for answer in answers] == [200, 201]
    assert [(answer.status_code, answer.json()) for answer in refused] == [(409, NO_MORE)] * 2
    assert Invitation.objects.count() == 2


def test_refused_invitation_uses_no_limit_up(as_ada, invitation, settings):
    settings.MAIL_PER_ADDRESS_PER_HOUR = 2
    assert [invite(as_ada).status_code for _ in range(3)] == [409] * 3

    assert resend(as_ada, invitation).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_both_invitation_limits_are_exact_in_a_race(as_ada, invitation, settings):
    again = race(*[partial(resend, as_ada, invitation)] * 10)
    settings.INVITATIONS_PER_DAY = 8
    new_invitations = [partial(invite, as_ada, f"c{number}@example.com") for number in range(10)]
    new = race(*new_invitations)

    assert sorted(answer.status_code for answer in again) == [200] * 4 + [409] * 6
    assert sorted(answer.status_code for answer in new) == [201] * 3 + [409] * 7
    assert OutgoingMail.objects.count() == 8


def told_to_the_admin(api, email):
    """What an admin is told of an invitation after strangers asked for mails to its address."""
    stranger = API()
    shown = invite(api, email).json()
    for _ in range(6):
        stranger.post("/auth/signup", {"email": email})
        stranger.post("/password-changes", {"email": email})
    Worker().work_round()
    again = api.post(f"/invitations/{shown['id']}/resend")
    own = {"id", "email", "created_at", "expires_at"}
    told = {name: value for name, value in again.json().items() if name not in own}
    return [again.status_code, again.json()["expires_at"] != shown["expires_at"], told]


def test_strangers_requests_change_nothing_that_an_admin_is_told(as_ada, eve, new_user):
    """The hour's budget once told who has a user here: an invitation, public requests until the
    budget is gone unless they come to nothing, and the invitation once more."""
    inactive = new_user("gone@example.org", is_active=False)
    emails = [eve.email, inactive.email, "nobody@example.org"]

    told = [told_to_the_admin(as_ada, email) for email in emails]

    assert told[0] == told[1] == told[2]
    assert told[0][:2] == [200, True]
    assert User.objects.filter(email="nobody@example.org").count() == 0


def test_strangers_sign_ups_suppress_no_invitation(as_ada, api):
    for _ in range(6):
        api.post("/auth/signup", {"email": "charles@example.com"})
    invite(as_ada)
    Worker().work_round()

    assert OutgoingMail.objects.filter(kind="invitations.invitation", state="sent").count() == 1
