"""The outbox and its worker, against a real SMTP server that is up, down, slow, refusing, and
with workers that are killed."""

import asyncio
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import Q
from django.db.models.signals import post_save
from django.utils import timezone

from mail.budget import DAY, MailBudget
from mail.outbox import MAIL_LEASE, REQUEST_SPREAD, MailState, OutgoingMail, retry_pause
from mail.smtp import ANSWER_SECONDS, greeting_name
from signin.models import SignupLink
from tests.mail.conftest import request
from tests.races import close_connections, race
from tests.requests import ask
from tests.servers import wait_until
from throttling.models import Lockout
from worker.jobs import prune_all
from worker.models import Heartbeat
from worker.rounds import Worker

pytestmark = pytest.mark.django_db(transaction=True)


def link_in(message, part="plain"):
    body = message.get_body((part,))
    assert body is not None
    return re.search(r"http\S+?#token=[\w-]+", body.get_content())[0]


def round_apart():
    """Work one round in a thread, and close the thread's database connections."""
    try:
        return Worker().work_round()
    finally:
        close_connections()


def test_mail_has_subject_text_and_html_with_the_link(server):
    request()
    Worker().work_round()

    (message,) = server.messages
    assert (message["To"], message["Subject"]) == ("new@example.com", "Finish signing up")
    assert message["From"] == "no-reply@localhost"
    assert link_in(message) == link_in(message, "html") == SignupLink.objects.get().url


def test_mail_asks_for_no_automatic_reply_and_has_an_ascii_id(server, settings):
    settings.DEFAULT_FROM_EMAIL = "Müller <no-reply@müller.example>"
    request()
    Worker().work_round()

    (message,) = server.messages
    assert message["Message-ID"] == f"<{OutgoingMail.objects.get().pk}@xn--mller-kva.example>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["X-Auto-Response-Suppress"] == "OOF, AutoReply"  # for Exchange


@pytest.mark.parametrize(
    ("host_name", "service_url", "greeting"),
    [
        ("mail.example.com", "https://api.example.com", "mail.example.com"),
        ("3f2a9c01d4e5", "https://api.example.com:8443", "api.example.com"),  # of a container
        ("localhost", "https://api.example.com", "api.example.com"),
        ("localhost.localdomain", "https://api.example.com", "api.example.com"),
        ("192.0.2.7", "https://api.example.com", "api.example.com"),
        ("192.0.2.7", "http://localhost:8000", "[127.0.0.1]"),
        ("3f2a9c01d4e5", "http://192.0.2.7:8000", "[127.0.0.1]"),
        ("3f2a9c01d4e5", "http://[::1]:8000", "[127.0.0.1]"),
        ("localhost", "http://localhost:8000", "[127.0.0.1]"),
    ],
)
def test_greeting_has_a_full_name(server, settings, monkeypatch, host_name, service_url, greeting):
    """Servers refuse others: "Helo command rejected: need fully-qualified hostname"."""
    settings.SERVICE_URL = service_url
    monkeypatch.setattr("django.core.mail.backends.smtp.DNS_NAME.get_fqdn", lambda: host_name)
    monkeypatch.setattr("socket.getfqdn", lambda *_: host_name)
    request()
    Worker().work_round()

    assert server.greetings == [greeting]


def test_greeting_with_an_ipv6_address_says_so(settings):
    settings.SERVICE_URL = "http://localhost:8000"

    assert greeting_name("localhost", "2001:db8::7") == "[IPv6:2001:db8::7]"


def test_server_that_checks_a_mail_for_long_gets_it_once(server, settings):
    settings.EMAIL_TIMEOUT = 0.5
    server.delay = 2
    request()

    assert Worker().work_round() is True
    mail = OutgoingMail.objects.get()
    assert (mail.state, mail.attempts, len(server.messages)) == (MailState.SENT, 1, 1)


def test_slowest_mail_is_sent_before_its_lease_ends(settings):
    """Else another worker sends it again. A mail takes up to two greetings, its sender, its
    recipient, and three steps for its text."""
    seconds = 4 * settings.EMAIL_TIMEOUT + 3 * ANSWER_SECONDS

    assert seconds < MAIL_LEASE.total_seconds()


def test_round_fails_if_the_mail_server_falls_silent(server, settings):
    async def say_nothing(*_):
        await asyncio.sleep(5)
        return "250 OK"

    settings.EMAIL_TIMEOUT = 0.2
    server.handle_RCPT = say_nothing
    request()

    assert Worker().work_round() is False
    assert OutgoingMail.objects.get().attempts == 1


def test_mail_waits_for_a_mail_server_that_is_down(server, caplog):
    server.stop()
    request()
    worker = Worker()

    assert worker.work_round() is False
    assert f"mail server 127.0.0.1:{server.port}: ConnectionRefusedError" in caplog.text
    server.start()
    assert worker.work_round() is True
    assert len(server.messages) == 1


@pytest.mark.parametrize("answer", ["451 later", "550 no", "421 closing"])
def test_refused_mail_holds_up_no_other_and_is_tried_again_with_the_same_link(server, answer):
    server.answers = [answer]
    mail = request()
    request("other@example.com")
    Worker().work_round()
    mail.refresh_from_db()
    assert (mail.state, mail.attempts) == (MailState.READY, 1)
    assert server.receivers() == ["other@example.com"]

    with time_machine.travel(mail.due_at + timedelta(seconds=1)):
        Worker().work_round()

    assert link_in(server.messages[1]) == SignupLink.objects.get(email=mail.email).url


def test_retry_pauses_grow_to_a_quarter_of_an_hour():
    pauses = [retry_pause(attempts).total_seconds() for attempts in (1, 2, 3, 10, 11, 1000)]

    assert pauses == [1, 2, 4, 512, 900, 900]


def test_used_link_is_not_mailed_any_more(server):
    link = SignupLink.objects.create(email="new@example.com", used_at=timezone.now())
    OutgoingMail.objects.queue_link(link)
    Worker().work_round()

    assert server.messages == []
    assert OutgoingMail.objects.get().state == MailState.DROPPED


def test_runworker_once_sends_only_what_was_due_at_its_start(server):
    def more(instance, created, **_):
        """For each new link, request one mail and queue another link's."""
        number = OutgoingMail.objects.count()
        if created and instance.email.startswith(("new", "requested")) and number < 9:
            request(f"requested{number}@example.com")
            link = SignupLink.objects.create(email=f"announced{number}@example.com")
            OutgoingMail.objects.queue_link(link)

    request()
    post_save.connect(more, SignupLink)
    call_command("runworker", once=True)
    post_save.disconnect(more, SignupLink)

    assert server.receivers() == ["new@example.com"]
    assert OutgoingMail.objects.still_waiting().count() == 2


def test_two_workers_send_each_mail_once(server):
    for number in range(20):
        request(f"new{number}@example.com")

    race(*[Worker().work_round] * 4)

    assert len({*server.receivers()}) == 20
    assert len(server.messages) == 20


def test_mail_of_a_killed_worker_holds_up_nobody_and_is_sent_after_its_lease(server):
    assert request("first@example.com").lease()
    request("second@example.com")
    Worker().work_round()
    assert server.receivers() == ["second@example.com"]

    with time_machine.travel(timezone.now() + MAIL_LEASE):
        Worker().work_round()
    assert server.receivers()[1:] == ["first@example.com"]


def test_no_transaction_is_open_while_the_server_takes_its_time(server):
    """An idle_in_transaction_session_timeout of the database would end the transaction, and the
    mail would be sent twice."""
    server.delay = 1
    request()
    with ThreadPoolExecutor() as threads:
        round_ = threads.submit(round_apart)
        assert server.in_data.wait(60)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
                " AND datname = current_database()"
            )
            assert cursor.fetchone() == (0,)
        assert round_.result() is True


def test_runworker_check_fails_until_a_worker_has_run(server):
    with pytest.raises(CommandError, match="No worker"):
        call_command("runworker", check=True)
    Heartbeat.objects.create(name="round", at=timezone.now() + timedelta(hours=1))
    Heartbeat.objects.record_done("round")  # the clock was set back
    assert Heartbeat.objects.time_since("round") > timedelta()
    call_command("runworker", check=True)
    with time_machine.travel(timezone.now() + timedelta(minutes=11)), pytest.raises(CommandError):
        call_command("runworker", check=True)


def test_worker_that_sends_for_long_is_not_silent(server):
    Heartbeat.objects.create(name="round", at=timezone.now() - timedelta(minutes=11))
    request()
    assert Worker().work_round()
    call_command("runworker", check=True)


LEASES_END = (
    "from mail.models import OutgoingMail; from django.utils import timezone;"
    "OutgoingMail.objects.update(due_at=timezone.now())"
)


@pytest.mark.parametrize("database", ["postgresql", "sqlite"])
def test_mail_of_a_killed_worker_is_sent_and_a_slow_server_delays_no_sign_up(
    new_service, server, database, tmp_path
):
    """The worker as production runs it: a process of its own beside gunicorn."""
    environment = {"EMAIL_URL": f"smtp://127.0.0.1:{server.port}"}
    if database == "sqlite":
        environment["DATABASE_URL"] = f"sqlite:///{tmp_path}/db.sqlite3"
    service = new_service(**environment)
    service.manage("migrate", "-v0")
    service.start()
    server.delay = 60
    worker = service.spawn("manage.py", "runworker")
    for email in ("first@example.com", "second@example.com"):
        assert ask(service.url, "POST", "/auth/signup", {"email": email}).status == 200
        assert server.in_data.wait(60)
    assert server.messages == []
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    server.stop()
    server.delay = 0
    server.start()

    service.manage("shell", "--no-imports", "-c", LEASES_END)
    service.spawn("manage.py", "runworker")

    wait_until(lambda: len(server.messages) == 2)
    url = link_in(server.messages[0])
    body = {"token": url.partition("=")[2], "account_name": "A", "first_name": "A"}
    body |= {"last_name": "B", "password": "correct horse"}
    assert ask(service.url, "POST", "/auth/complete-signup", body).status == 200


def test_worker_ends_at_once_on_sigterm(new_service):
    service = new_service()
    worker = service.spawn("manage.py", "runworker")
    wait_until(lambda: "worker started" in service.log)

    worker.terminate()

    assert worker.wait(60) == 0


def test_pruning_repairs_rows_of_a_clock_that_was_ahead(db):
    with time_machine.travel(timezone.now() + 90 * DAY):
        request()
        Lockout.objects.record_failure("ada@example.com")
    prune_all()

    assert OutgoingMail.objects.filter(due_at__lte=timezone.now() + REQUEST_SPREAD).count() == 1
    assert [MailBudget.objects.count(), Lockout.objects.count()] == [0, 0]


@pytest.mark.live
@pytest.mark.parametrize("model", [OutgoingMail, SignupLink])
def test_outbox_and_sign_up_links_are_searched_by_index(model):
    """Strangers can cause any number of mails and sign-up links."""
    model.objects.bulk_create(model(email=f"new{n}@example.com") for n in range(5_000))
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {model._meta.db_table}")

    for condition in (
        Q(email__startswith="new7@"),
        Q(email__in=["new7@example.com", "a@b.example"]),
    ):
        rows = model.objects.filter(condition)
        assert rows.count() == 1
        assert "Seq Scan" not in rows.explain()
