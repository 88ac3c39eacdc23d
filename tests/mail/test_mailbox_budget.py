"""One budget for each mailbox, over all kinds and companies: a flood waits, and no mail is lost."""

from datetime import timedelta

import pytest
import time_machine
from django.core import mail
from django.utils import timezone

from invitations.models import Invitation
from mail import outbox
from mail.outbox import GIVE_UP_AFTER, MAILBOX_IS_FULL, OutgoingMail, State
from mail.worker import Worker
from passwords.models import PasswordChange
from tests.conftest import bearer, race

pytestmark = pytest.mark.django_db
LIMIT = 10  # twice MAIL_PER_ADDRESS_PER_HOUR


def sent():
    return OutgoingMail.objects.filter(state=State.SENT).count()


def test_spellings_of_an_address_share_an_hour(api):
    for number in range(15):
        api.post("/auth/signup", {"email": f"Victim+{number}@example.net"})
    Worker().work_round()
    assert sent() == LIMIT

    with time_machine.travel(timezone.now() + timedelta(minutes=30)):
        Worker().work_round()
        assert sent() == LIMIT
    with time_machine.travel(timezone.now() + timedelta(hours=1, minutes=1)):
        Worker().work_round()
    assert sent() == 15


def test_dots_and_domains_of_gmail_share_an_hour(api):
    spellings = ["victim", "vic.tim", "v.i.c.t.i.m+x"]
    domains = ["gmail.com", "googlemail.com"]
    for email in [f"{local}@{domain}" for local in spellings for domain in domains] * 2:
        api.post("/auth/signup", {"email": email})
    Worker().work_round()

    assert sent() == LIMIT


def test_flood_does_not_delay_links_for_the_user_and_is_given_up(ada, api):
    for number in range(15):
        api.post("/auth/signup", {"email": f"ada+{number}@example.com"})
    Worker().work_round()
    api.post("/password-changes", {"email": ada.email})
    Worker().work_round()
    assert OutgoingMail.objects.get(email=ada.email).state == State.SENT

    invitation, now = Invitation.objects.invite(ada, "ada+new@example.com"), timezone.now()
    waiting = OutgoingMail.objects.still_waiting()
    assert waiting.update(due_at=now, created_at=now - GIVE_UP_AFTER) == 6
    Worker().work_round()
    assert OutgoingMail.objects.filter(state=State.DROPPED).count() == 5
    assert waiting.get().link_id == invitation.pk  # until it expires


def test_requests_for_free_spellings_do_not_hold_back_the_users_links(ada, api):
    for number in range(LIMIT + 2):
        api.post("/password-changes", {"email": f"ada+{number}@example.com"})
    Worker().work_round()
    api.post("/password-changes", {"email": ada.email})
    Worker().work_round()

    assert OutgoingMail.objects.get(email=ada.email).state == State.SENT


@pytest.fixture(params=[True, False])
def vic(request, new_user):
    """Whether somebody is registered by that address: the tests can't tell."""
    if request.param:
        new_user("vic@example.com")


@pytest.mark.usefixtures("vic")
def test_invitations_wait_tells_nobody_who_is_registered(ada, api):
    for tag in ["", "", "", "", "", "+0", "+1", "+2", "+3", "+4"]:
        api.post("/auth/signup", {"email": f"vic{tag}@example.com"})
    Worker().work_round()
    invitation = Invitation.objects.invite(ada, "vic@example.com")
    Worker().work_round()

    assert OutgoingMail.objects.get(link_id=invitation.pk).state == State.READY


@pytest.mark.usefixtures("vic")
def test_invitations_wait_tells_nobody_an_hour_later(ada, api):
    for number in range(LIMIT):
        api.post("/auth/signup", {"email": f"vic+{number}@example.com"})
    Worker().work_round()
    for _ in range(15):
        api.post("/auth/signup", {"email": "vic@example.com"})
    Worker().work_round()
    assert {*OutgoingMail.objects.still_waiting().values_list("state", "problem")} == {
        (State.REQUESTED, MAILBOX_IS_FULL)
    }

    with time_machine.travel(timezone.now() + timedelta(hours=1, minutes=1)):
        for number in range(LIMIT):
            Invitation.objects.invite(ada, f"vic+i{number}@example.com")
        Worker().work_round()
        invited = OutgoingMail.objects.filter(kind="invitations.invitation")
        assert invited.filter(state=State.SENT).count() == LIMIT - 5


def test_requests_are_sent_in_a_random_order(api, monkeypatch):
    monkeypatch.setattr(outbox, "SPREAD", timedelta(seconds=5))
    emails = [f"friend{number}@example.net" for number in range(20)]
    for email in emails:
        api.post("/auth/signup", {"email": email})
    with time_machine.travel(timezone.now() + timedelta(seconds=5)):
        Worker().work_round()

    receivers = [message.to[0] for message in mail.outbox]
    assert receivers != emails
    assert sorted(receivers) == sorted(emails)


def test_kinds_and_companies_share_it_and_admins_see_what_waits(api, new_user):
    admins = [new_user(f"admin{n}@example.com", role="admin") for n in range(4)]
    for admin in admins:
        for number in range(4):
            bearer(admin).post("/invitations", {"email": f"friend+{number}@example.net"})
    api.post("/auth/signup", {"email": "friend@example.net"})
    Worker().work_round()

    assert sent() == LIMIT
    shown = [
        item["mail"] for one in admins for item in bearer(one).get("/invitations").json()["items"]
    ]
    assert sorted({*shown}) == ["sent", "waiting"]
    assert shown.count("waiting") in {6, 7}
    assert OutgoingMail.objects.exclude(state=State.SENT).exclude(problem="").count() == 7


def test_links_that_support_sends_count_and_notices_do_not_wait(ada):
    for _ in range(LIMIT + 2):
        PasswordChange.objects.mail_to(ada, actor=ada)
        Worker().work_round()
    assert sent() == LIMIT

    ada.send_notice("password_changed")
    Worker().work_round()
    assert mail.outbox[-1].subject == "Your password was changed"


@pytest.mark.django_db(transaction=True)
def test_workers_who_race_send_no_more(ada):
    for number in range(2 * LIMIT):
        Invitation.objects.invite(ada, f"friend+{number}@example.net")

    race(*[Worker().work_round] * 4)

    assert sent() == LIMIT
