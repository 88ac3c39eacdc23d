"""A mail that cannot be made, decided or delivered holds up no other, and ends no worker."""

import smtplib
import uuid
from datetime import timedelta

import pytest
import time_machine
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import User
from base.caller import Caller
from invitations.models import Invitation
from mail import smtp
from mail.notices import NOTICE_PREFIX, Notice
from mail.outbox import GIVE_UP_AFTER, GIVE_UP_ATTEMPTS, MailState, OutgoingMail, Queue
from passwords.models import PasswordChange
from signin.models import SignupLink
from tests.backoffice.helpers import page_of, take_action, text
from tests.mail.conftest import request, work_again
from worker import jobs
from worker.rounds import Worker

pytestmark = pytest.mark.django_db(transaction=True)


def of_another_release(kind, state):
    """A mail of a kind that this release does not know, which is due before all others."""
    mail = OutgoingMail(kind=kind, state=state, email="later@example.com")
    mail.due_at = timezone.now() - timedelta(hours=1)
    if state == MailState.READY and not kind.startswith(NOTICE_PREFIX):
        mail.link_id = uuid.uuid4()
    mail.save()
    return mail


@pytest.mark.parametrize("kind", ["later.link", "signin.laterlink", "notice.of_later", "nonsense"])
@pytest.mark.parametrize("state", [MailState.REQUESTED, MailState.READY])
def test_mail_of_an_unknown_kind_is_tried_again_later(server, kind, state):
    unknown = of_another_release(kind, state)
    request("good@example.com")
    Worker().work_round(by=timezone.now())  # not again after the first pause of a second

    assert server.receivers() == ["good@example.com"]
    unknown.refresh_from_db()
    is_notice = kind.startswith(NOTICE_PREFIX) and state == MailState.READY
    problem = "TemplateDoesNotExist" if is_notice else "UnknownKind"
    assert (unknown.state, unknown.attempts, unknown.problem) == (state, 1, problem)
    assert OutgoingMail.objects.measure_queue() == Queue(0, 1, timedelta())


def test_back_office_shows_a_kind_that_is_unknown(operator):
    mail = of_another_release("later.link", MailState.READY)
    assert "Later.link" in text(operator, "/admin/mail/outgoingmail/")

    take_action(operator, "try_again", mail)

    assert operator.get(page_of(mail)).status_code == 200
    assert OutgoingMail.objects.get().due_at == mail.due_at


def test_caller_of_a_later_release_is_read(server, bob):
    OutgoingMail.objects.request_mail(PasswordChange, bob.email, "en")
    OutgoingMail.objects.update(origin={"address": "192.0.2.1", "planet": "Mars"})
    Worker().work_round()

    assert len(server.messages) == 1
    assert Caller.from_json({"planet": "Mars"}) == Caller()


@pytest.mark.parametrize("error", [TypeError, LookupError, AssertionError, OSError])
def test_mail_that_cannot_be_decided_is_put_off_and_given_up(server, monkeypatch, error):
    broken = request("broken@example.com")
    request("good@example.com")
    for_mail = SignupLink.for_mail.__func__

    def fail_for_one(cls, mail):
        if mail.pk == broken.pk:
            raise error("of this mail")
        return for_mail(cls, mail)

    monkeypatch.setattr(SignupLink, "for_mail", classmethod(fail_for_one))
    Worker().work_round()
    Worker().work_round()
    assert server.receivers() == ["good@example.com"]
    broken.refresh_from_db()
    assert (broken.state, broken.problem) == (MailState.REQUESTED, error.__name__)
    assert OutgoingMail.objects.measure_queue() == Queue(0, 1, timedelta())

    OutgoingMail.objects.update(attempts=GIVE_UP_ATTEMPTS - 1)
    with time_machine.travel(timezone.now() + GIVE_UP_AFTER):
        Worker().work_round()
        assert OutgoingMail.objects.count_given_up() == 1
    broken.refresh_from_db()
    assert broken.state == MailState.FAILED


FAIL_AT_COMMIT = """
CREATE FUNCTION fail() RETURNS trigger AS $$ BEGIN RAISE 'at commit'; END $$ LANGUAGE plpgsql;
CREATE CONSTRAINT TRIGGER fail AFTER UPDATE ON mail_outgoingmail DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.link_id IS NOT NULL) EXECUTE FUNCTION fail();
"""


def test_mail_whose_decision_fails_at_its_commit_is_decided_again(server):
    request("good@example.com")
    with connection.cursor() as cursor:
        cursor.execute(FAIL_AT_COMMIT)
    Worker().work_round()
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION fail CASCADE")
    assert server.receivers() == []
    work_again()

    assert server.receivers() == ["good@example.com"]


def test_worker_prunes_although_its_mail_round_fails(monkeypatch, caplog):
    worker = Worker()
    monkeypatch.setitem(jobs.jobs_by_name, "prune", jobs.Job("prune", worker.stop, jobs.HOURLY))

    def fail():
        raise LookupError("of the worker itself")

    monkeypatch.setattr(worker, "work_round", fail)
    worker.run()

    assert "worker: unexpected error" in caplog.text


def test_notices_and_users_links_come_first_and_of_each_what_is_due_longest(server, bob):
    for number in range(3):
        request(f"new{number}@example.com")
        notice = Notice("password_changed", f"told{number}@example.com", "en")
        OutgoingMail.objects.queue_notice(notice)
        OutgoingMail.objects.request_mail(PasswordChange, bob.email, "en")
    Worker().work_round()

    notified = [f"told{number}@example.com" for number in range(3)]
    new = [f"new{number}@example.com" for number in range(3)]
    assert server.receivers() == [*notified, *[bob.email] * 3, *new]


def test_flood_of_requests_starves_no_mail(server, monkeypatch):
    """For each request that the worker decides, another request is made."""
    request("first@example.com")
    for_mail = SignupLink.for_mail.__func__
    steps = []

    def one_more(cls, mail):
        steps.append("decided")
        if steps.count("decided") < 50:
            request(f"more{len(steps)}@example.com")
        return for_mail(cls, mail)

    monkeypatch.setattr(SignupLink, "for_mail", classmethod(one_more))
    monkeypatch.setattr(server.in_data, "set", lambda: steps.append("sent"))
    Worker().work_round()

    assert steps == ["decided", "sent"] * 50


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        ("550 no such user", MailState.REFUSED),
        ("551 gone", MailState.REFUSED),
        ("553 no mailbox", MailState.REFUSED),
        ("550 5.1.1 unknown", MailState.REFUSED),
        ("552 5.2.2 full", MailState.REFUSED),
        ("550 sorry, no mailbox here by that name (#5.1.1)", MailState.REFUSED),
        ("550 <policeman@relay.example>: User unknown", MailState.REFUSED),
        ("550 blackrelay@x.example... no such user", MailState.REFUSED),
        ("550 mailbox unavailable, see https://x.example/policies?relay", MailState.REFUSED),
        ("450 later", MailState.READY),
        ("451 4.7.1 greylisted", MailState.READY),
        ("554 relay denied", MailState.READY),
        ("550 relay not permitted", MailState.READY),
        ("550 Please turn on SMTP Authentication", MailState.READY),
        ("550 Sender verify failed", MailState.READY),
        ("550 Administrative prohibition", MailState.READY),
        ("550 rejected: 192.0.2.1 is in a black list", MailState.READY),
        ("550 rejected: no reverse DNS", MailState.READY),
        ("550 Access denied", MailState.READY),
        ("550 192.0.2.1 has bad reputation", MailState.READY),
        ("550 rejected, see https://www.spamhaus.org/query/ip/192.0.2.1", MailState.READY),
        ("550 sender:<me@x.example> unknown", MailState.READY),
        ("553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1)", MailState.READY),
        ("550 5.7.1 who are you", MailState.READY),
    ],
)
def test_refused_recipient_ends_the_mail_or_delays_it(server, ada, answer, state):
    server.unwanted = {"typo@example.com": answer}
    Invitation.objects.invite(ada, "typo@example.com")
    Worker().work_round()

    mail = OutgoingMail.objects.get()
    assert (mail.state, mail.attempts) == (state, 1)
    assert mail.problem == f"SMTPRecipientsRefused {answer[:3]}"
    is_delayed = state == MailState.READY
    assert OutgoingMail.objects.measure_queue() == Queue(0, is_delayed, timedelta())
    assert OutgoingMail.objects.count_of_last_hour() == {state: 1}


@pytest.mark.parametrize(
    ("error", "is_final"),
    [
        (smtplib.SMTPSenderRefused(550, b"5.1.8 who?", "me@example.com"), False),
        (smtplib.SMTPSenderRefused(530, b"5.7.0 log in", "me@example.com"), False),
        (smtplib.SMTPSenderRefused(552, b"5.2.3 too long", "me@example.com"), False),
        (smtplib.SMTPAuthenticationError(535, b"5.2.1 disabled"), False),
        (smtplib.SMTPResponseException(500, "Line too long."), False),
        (smtplib.SMTPDataError(554, b"5.2.0 STOREDRV; SendAsDenied"), False),
        (smtplib.SMTPDataError(554, b"5.2.252 SendAsDenied"), False),
        (smtplib.SMTPDataError(552, b"5.2.2 full"), True),
        (smtplib.SMTPDataError(550, b"no"), False),
        (smtplib.SMTPDataError(554, b"5.7.1 spam"), False),
        (smtplib.SMTPDataError(550, b"5.1.10 null MX"), True),
        (smtplib.SMTPServerDisconnected("gone"), False),
        (TimeoutError(), False),
    ],
)
def test_only_refusals_of_the_mailbox_are_final(error, is_final):
    assert smtp.is_final(error) is is_final


def test_mail_of_an_operators_invitation_is_tried_again_by_superusers_alone(operator, new_user):
    superuser = User.objects.get(is_superuser=True)
    Invitation.objects.invite(superuser, "new@example.com")
    invitation_mail = OutgoingMail.objects.get()
    staff = new_user(is_staff=True)

    with pytest.raises(PermissionDenied), transaction.atomic():
        invitation_mail.try_again(staff)
    with transaction.atomic():
        invitation_mail.try_again(superuser)


def test_mail_that_was_refused_can_be_tried_again(server, operator, ada):
    server.unwanted = {"typo@example.com": "550 no such user"}
    Invitation.objects.invite(ada, "typo@example.com")
    OutgoingMail.objects.queue_notice(Notice("password_changed", "typo@example.com", "en"))
    Worker().work_round()
    server.unwanted = {}
    take_action(operator, "try_again", *OutgoingMail.objects.all())
    Worker().work_round()

    assert server.receivers() == ["typo@example.com"] * 2
