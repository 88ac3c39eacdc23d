"""The hourly budgets of one mailbox: of requests by strangers, of mails that users caused, and of
links for the mailbox's own user."""

from datetime import timedelta

import pytest
import time_machine
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Role
from emailchanges.models import EmailChange
from invitations.models import Invitation
from mail import outbox
from mail.outbox import MAILBOX_LIMIT_REACHED, MAX_WAITING_REQUESTS, MailState, OutgoingMail
from passwords.models import PasswordChange
from tests.clients import API, bearer
from tests.races import race
from worker.rounds import Worker

pytestmark = pytest.mark.django_db
STRANGERS = 5  # MAIL_PER_ADDRESS_PER_HOUR, to the plain address, and to all spellings with a tag
USERS = FOR_USER = 10  # twice that


def sent(**fields):
    return OutgoingMail.objects.filter(state=MailState.SENT, **fields).count()


def waiting(**fields):
    return OutgoingMail.objects.still_waiting().filter(**fields).count()


def sign_up(*emails):
    return [API().post("/auth/signup", {"email": email}).content for email in emails]


def tagged(number, mailbox="victim@example.net", tag="n"):
    """So many spellings of a mailbox with a tag."""
    local, _, domain = mailbox.partition("@")
    return [f"{local}+{tag}{n}@{domain}" for n in range(number)]


def test_spellings_of_an_address_share_an_hourly_budget():
    sign_up(*tagged(12))
    for minutes, number in [(0, STRANGERS), (59, STRANGERS), (61, 2 * STRANGERS), (122, 12)]:
        with time_machine.travel(timezone.now() + timedelta(minutes=minutes)):
            Worker().work_round()
        assert sent() == number


def test_spellings_with_a_tag_do_not_hold_back_the_plain_address():
    sign_up(*tagged(15), "victim@example.net")
    Worker().work_round()

    assert sent(email="victim@example.net") == 1


def test_dots_and_domains_of_gmail_share_an_hourly_budget():
    for local in ["victim", "vic.tim", "v.ictim", "v.i.c.t.i.m", "vict.im+x", "vi.ctim+y"]:
        sign_up(*[f"{local}@gmail.com", f"{local}@googlemail.com"] * 2)
    Worker().work_round()

    assert sent() == 2 * STRANGERS
    assert sent(email__contains="+") == STRANGERS


def test_requests_by_strangers_delay_no_mail_that_a_user_caused(ada, bob):
    emails = ["vic@example.net", "vic+work@example.net"]
    for email in emails:
        sign_up(*[email] * 6, *tagged(30, email.replace("+work", "")))
        API().post("/password-changes", {"email": email})
    for _ in range(6):
        API().post("/password-changes", {"email": bob.email})
    Worker().work_round()
    sign_up(*tagged(30, emails[0], "more"))
    for email in emails:
        Invitation.objects.invite(ada, email)
        EmailChange.request_link(bob, email)
    PasswordChange.objects.request_for(bob, actor=ada)
    PasswordChange.objects.mail_to(bob, actor=ada)
    bob.send_notice("password_changed")
    Worker().work_round()

    assert waiting(kind="signin.signuplink") == MAX_WAITING_REQUESTS
    assert waiting() == MAX_WAITING_REQUESTS
    assert sent(kind="invitations.invitation") == sent(kind="emailchanges.emailchange") == 2
    assert sent(email=bob.email, kind="passwords.passwordchange") == 5 + 2


def test_invitations_to_spellings_hold_back_none_to_the_plain_address(new_user):
    inviters = [new_user(f"admin{n}@example.com", role=Role.ADMIN) for n in range(2)]
    for inviter in inviters:
        for email in tagged(15):
            Invitation.objects.invite(inviter, email)
    Worker().work_round()
    Invitation.objects.invite(inviters[0], "victim@example.net")
    Worker().work_round()

    assert sent(email__contains="+") == USERS
    assert sent(email="victim@example.net") == 1


def test_mailbox_gets_at_most_forty_links_an_hour_by_all_ways_together(new_user):
    """SECURITY.md promises this. Of the twenty links by strangers this user can get eleven."""
    victim = new_user("victim@example.net")
    inviters = [new_user(f"admin{n}@example.com", role=Role.ADMIN) for n in range(3)]
    spellings = [victim.email, *tagged(6)]
    for email in spellings:
        sign_up(*[email] * 6)
        for _ in range(6):
            API().post("/auth/login", {"email": email, "password": "wrong"})
            API().post("/password-changes", {"email": email})
        for inviter in inviters:
            invitation = Invitation.objects.invite(inviter, email)
            for _ in range(4):
                invitation.resend(inviter)
    PasswordChange.objects.mail_to(victim, actor=victim)
    Worker().work_round()

    assert sent(kind__in=["passwords.passwordchange", "signin.unlocklink"]) == 5 + 1
    assert sent(kind="signin.signuplink") == STRANGERS
    assert sent(kind="invitations.invitation") == 2 * USERS


@pytest.fixture(params=[True, False])
def vic(request, new_user):
    """Two spellings of a mailbox, registered or not: the tests must not see a difference."""
    for email in ("vic@example.com", "vic+n1@example.com") * request.param:
        new_user(email)


@pytest.mark.usefixtures("vic")
def test_waiting_invitation_tells_nobody_who_is_registered(ada, bob):
    for email in ["vic@example.com", *tagged(USERS, "vic@example.com")]:
        EmailChange.request_link(ada, email)
        EmailChange.request_link(bob, email)
    Worker().work_round()
    Invitation.objects.invite(ada, "vic+new@example.com")
    Worker().work_round()

    assert waiting(email="vic+new@example.com", state=MailState.READY) == 1
    assert waiting(kind="emailchanges.emailchange", state=MailState.REQUESTED) == USERS


@pytest.mark.usefixtures("vic")
def test_requests_beyond_twenty_that_wait_are_dropped_for_all_alike():
    answers = set()
    for tag in "ab":
        answers |= {*sign_up(*tagged(MAX_WAITING_REQUESTS, "vic@example.com", tag))}
        Worker().work_round()
    assert {*OutgoingMail.objects.still_waiting().values_list("state", "problem")} == {
        (MailState.REQUESTED, MAILBOX_LIMIT_REACHED)
    }
    statements = []
    for email in tagged(3, "vic@example.com"):
        with CaptureQueriesContext(connection) as queries:
            answers |= {*sign_up(email)}
        statements.append(len(queries))
    answers |= {*sign_up("vic@example.com")}

    assert waiting(problem=MAILBOX_LIMIT_REACHED) == MAX_WAITING_REQUESTS
    assert waiting(problem="", email="vic@example.com") == 1
    assert len(answers) == 1
    assert {*statements} == {2}


def test_password_requests_of_other_spellings_drop_no_users_link(ada):
    for email in tagged(2 * MAX_WAITING_REQUESTS, ada.email):
        API().post("/password-changes", {"email": email})
    API().post("/password-changes", {"email": ada.email})
    Worker().work_round()

    assert sent(email=ada.email) == 1


def test_waiting_mails_are_sent_before_later_ones():
    """Strangers who request mails to new spellings all the time delay no mail forever."""
    sign_up(*tagged(STRANGERS + 8), "victim+honest@example.net")
    now = timezone.now()
    for minutes in range(0, 200, 15):
        with time_machine.travel(now + timedelta(minutes=minutes)):
            sign_up(*tagged(STRANGERS, tag=f"m{minutes}."))
            Worker().work_round()

    assert sent(email="victim+honest@example.net") == 1


def test_requests_are_sent_in_a_random_order(api, monkeypatch):
    monkeypatch.setattr(outbox, "REQUEST_SPREAD", timedelta(seconds=5))
    emails = [f"friend{number}@example.net" for number in range(20)]
    for email in emails:
        api.post("/auth/signup", {"email": email})
    with time_machine.travel(timezone.now() + timedelta(seconds=5)):
        Worker().work_round()

    receivers = [message.to[0] for message in mail.outbox]
    assert receivers != emails
    assert sorted(receivers) == sorted(emails)


def test_kinds_and_companies_share_a_budget_and_admins_see_waiting_mails(new_user):
    admins = [new_user(f"admin{n}@example.com", role=Role.ADMIN) for n in range(4)]
    for admin in admins:
        for email in tagged(4, "friend@example.net"):
            bearer(admin).post("/invitations", {"email": email})
    EmailChange.request_link(admins[0], "friend+n0@example.net")
    Worker().work_round()

    assert sent(email__contains="friend") == USERS
    deliveries = [
        invitation["mail"]
        for admin in admins
        for invitation in bearer(admin).get("/invitations").json()["items"]
    ]
    assert sorted({*deliveries}) == ["sent", "waiting"]
    assert deliveries.count("waiting") in {6, 7}
    assert waiting(problem=MAILBOX_LIMIT_REACHED) == 7


def test_links_that_support_sends_count_and_notices_do_not_wait(ada):
    for _ in range(USERS + 2):
        PasswordChange.objects.mail_to(ada, actor=ada)
        Worker().work_round()
    assert sent() == USERS

    ada.send_notice("password_changed")
    Worker().work_round()
    assert mail.outbox[-1].subject == "Your password was changed"


def test_link_that_undoes_a_change_of_address_does_not_wait(ada, new_user):
    inviters = [new_user(f"admin{n}@example.com", role=Role.ADMIN) for n in range(4)]
    for inviter in inviters:
        for _ in range(5):
            Invitation.objects.invite(inviter, ada.email).revoke(inviter)
    for _ in range(6):
        API().post("/password-changes", {"email": ada.email})
    old = ada.email
    EmailChange.request_link(ada, "new@example.net")
    Worker().work_round()
    EmailChange.objects.get().redeem(ada)
    Worker().work_round()

    assert sent(email=old, kind="emailchanges.undoemailchange") == 1


@pytest.mark.django_db(transaction=True)
def test_parallel_workers_send_no_more_than_the_budget(ada):
    for email in tagged(2 * USERS):
        Invitation.objects.invite(ada, email)
    sign_up(*tagged(4 * STRANGERS))

    race(*[Worker().work_round] * 4)

    assert sent() == USERS + STRANGERS
    assert waiting(problem=MAILBOX_LIMIT_REACHED) == USERS + 3 * STRANGERS


@pytest.mark.django_db(transaction=True)
def test_parallel_requests_are_dropped_beyond_about_twenty():
    def flood(letter):
        return lambda: sign_up(*tagged(10, tag=letter))

    race(*[flood(letter) for letter in "abcdefgh"])

    assert MAX_WAITING_REQUESTS <= waiting() < MAX_WAITING_REQUESTS + 8


@pytest.mark.django_db(transaction=True)
def test_mails_that_are_deleted_while_they_are_put_off_end_no_worker(ada, caplog):
    for email in tagged(200):
        Invitation.objects.invite(ada, email)

    def delete():
        for email in tagged(200)[::-1]:
            OutgoingMail.objects.filter(email=email).delete()
        OutgoingMail.objects.all().delete()

    race(*[Worker().work_round] * 4, delete)

    assert OutgoingMail.objects.count() == 0
    assert "not sent" not in caplog.text
