"""The outbox and its worker, against a real SMTP server that is up, down, slow, refusing, and
with workers that are killed."""

import email
import email.policy
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import time_machine
from aiosmtpd.controller import Controller
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.signals import post_save
from django.utils import timezone

from mail import outbox
from mail.heartbeat import Heartbeat
from mail.outbox import GIVE_UP_AFTER, LEASE, OutgoingMail, State, pause
from mail.worker import Worker
from signin.models import SignupLink
from tests.conftest import race
from tests.requests import ask
from tests.servers import free_port


class MailServer:
    """A real SMTP server on a port that stays its own while it is down."""

    def __init__(self):
        self.port = free_port()
        self.messages = []
        self.answers = []  # the next answers to DATA; then 250
        self.unwanted = {}  # what is answered to RCPT for an address; then 250
        self.delay = 0.0
        self.in_data = threading.Event()
        self.controller = None

    async def handle_RCPT(  # noqa: N802
        self, server, session, envelope, address, options
    ):
        if address not in self.unwanted:
            envelope.rcpt_tos.append(address)
        return self.unwanted.get(address, "250 OK")

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        import asyncio

        self.in_data.set()
        await asyncio.sleep(self.delay)
        answer = self.answers.pop(0) if self.answers else "250 OK"
        if answer.startswith("250"):
            message = email.message_from_bytes(envelope.content, policy=email.policy.default)
            self.messages.append(message)
        return answer

    def start(self):
        self.controller = Controller(self, "127.0.0.1", self.port)
        self.controller.start()

    def stop(self):
        if self.controller:
            self.controller.stop()
            self.controller = None


@pytest.fixture
def server(settings):
    server = MailServer()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    yield server
    server.stop()


def request(email="new@example.com"):
    OutgoingMail.objects.request(SignupLink, email, "en")
    return OutgoingMail.objects.get(email=email)


def wait_until(condition, seconds=15):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def link_in(message, part="plain"):
    body = message.get_body((part,))
    assert body is not None
    return re.search(r"http\S+?#token=[\w-]+", body.get_content())[0]


def round_apart():
    """A round in a thread of its own."""
    try:
        return Worker().round()
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
class TestWorker:
    def test_mail_has_subject_text_and_html_with_the_link(self, server):
        server.start()
        request()
        Worker().round()

        (message,) = server.messages
        assert (message["To"], message["Subject"]) == ("new@example.com", "Finish signing up")
        assert message["From"] == "no-reply@localhost"
        assert link_in(message) == link_in(message, "html") == SignupLink.objects.get().url

    def test_server_that_is_down_is_waited_for(self, server):
        request()
        worker = Worker()

        assert worker.round() is False
        server.start()
        assert worker.round() is True
        assert len(server.messages) == 1

    @pytest.mark.parametrize("answer", ["451 later", "550 no", "421 closing"])
    def test_refused_mail_is_tried_again_with_the_same_link(self, server, answer):
        server.start()
        server.answers = [answer]
        request()
        Worker().round()
        mail = OutgoingMail.objects.get()
        assert (mail.state, mail.attempts) == (State.READY, 1)
        link = SignupLink.objects.get()

        with time_machine.travel(mail.due_at + timedelta(seconds=1)):
            Worker().round()

        assert [link_in(message) for message in server.messages] == [link.url]

    def test_one_refused_mail_does_not_hold_up_the_others(self, server):
        server.start()
        server.answers = ["550 no"]
        for number in range(3):
            request(f"new{number}@example.com")
        Worker().round()

        assert len(server.messages) == 2

    def test_pauses_grow_to_a_quarter_of_an_hour(self):
        pauses = [pause(attempts).total_seconds() for attempts in (1, 2, 3, 10, 11, 1000)]

        assert pauses == [1, 2, 4, 512, 900, 900]

    def test_mail_is_given_up_after_three_days(self, server):
        server.start()
        server.answers = ["550 no"] * 2
        request()
        Worker().round()
        with time_machine.travel(timezone.now() + GIVE_UP_AFTER):
            OutgoingMail.objects.update(due_at=timezone.now())
            SignupLink.objects.update(expires_at=None)
            Worker().round()

        assert OutgoingMail.objects.get().state == State.FAILED

    def test_used_link_is_not_mailed_any_more(self, server):
        link = SignupLink.objects.create(email="new@example.com", used_at=timezone.now())
        OutgoingMail.objects.queue_link(link)
        server.start()
        Worker().round()

        assert server.messages == []
        assert OutgoingMail.objects.get().state == State.DROPPED

    def test_once_ends_after_what_was_due_when_it_began(self, server):
        def more(instance, created, **_):
            """With each link that is made, one mail is requested and one is announced."""
            number = OutgoingMail.objects.count()
            if created and instance.email.startswith(("new", "requested")) and number < 9:
                request(f"requested{number}@example.com")
                link = SignupLink.objects.create(email=f"announced{number}@example.com")
                OutgoingMail.objects.queue_link(link)

        server.start()
        request()
        post_save.connect(more, SignupLink)
        call_command("sendmail", once=True)
        post_save.disconnect(more, SignupLink)

        assert [message["To"] for message in server.messages] == ["new@example.com"]
        assert OutgoingMail.objects.unended().count() == 2

    def test_two_workers_send_each_mail_once(self, server):
        server.start()
        for number in range(20):
            request(f"new{number}@example.com")

        race(*[Worker().round] * 4)

        assert len({message["To"] for message in server.messages}) == 20
        assert len(server.messages) == 20

    def test_mail_of_a_killed_worker_holds_up_nobody_and_is_sent_after_its_lease(self, server):
        server.start()
        assert request("first@example.com").lease()
        request("second@example.com")
        Worker().round()
        assert [message["To"] for message in server.messages] == ["second@example.com"]

        with time_machine.travel(timezone.now() + LEASE):
            Worker().round()
        assert [message["To"] for message in server.messages][1:] == ["first@example.com"]

    def test_no_transaction_is_open_while_the_server_takes_its_time(self, server):
        """A DBA's idle_in_transaction_session_timeout would end it, and the mail go out again."""
        server.start()
        server.delay = 1
        request()
        with ThreadPoolExecutor() as threads:
            round_ = threads.submit(round_apart)
            assert server.in_data.wait(10)
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
                    " AND datname = current_database()"
                )
                assert cursor.fetchone() == (0,)
            assert round_.result() is True

    def test_mail_that_is_deleted_while_it_is_sent_stops_nothing(self, server):
        server.start()
        server.delay = 0.5
        request()
        with ThreadPoolExecutor() as threads:
            round_ = threads.submit(round_apart)
            assert server.in_data.wait(10)
            OutgoingMail.objects.all().delete()
            assert round_.result() is True

    def test_log_names_the_server_and_its_error(self, server, settings, caplog):
        server.start()
        settings.EMAIL_USE_TLS = True
        request()
        assert Worker().round() is False

        assert f"mail server 127.0.0.1:{server.port}: SMTPNotSupportedError" in caplog.text

    def test_check_fails_until_a_worker_has_run(self, server):
        with pytest.raises(CommandError, match="No mail worker"):
            call_command("sendmail", check=True)
        Heartbeat.objects.beat_round()
        call_command("sendmail", check=True)
        with (
            time_machine.travel(timezone.now() + timedelta(minutes=11)),
            pytest.raises(CommandError),
        ):
            call_command("sendmail", check=True)

    def test_queue_shows_how_long_the_first_mail_is_due(self):
        assert OutgoingMail.objects.queue().longest == timedelta()
        with time_machine.travel(timezone.now() - timedelta(minutes=7)):
            request("old@example.com")
        request("new@example.com")

        assert timedelta(minutes=7) <= OutgoingMail.objects.queue().longest < timedelta(minutes=8)

    def test_mail_that_cannot_be_made_does_not_stop_the_worker(self, server, monkeypatch):
        server.start()
        broken, _good = request("broken@example.com"), request("good@example.com")
        compose = outbox.compose

        def fail_for_one(mail_id, *args):
            if mail_id == broken.pk:
                raise KeyError("template")
            return compose(mail_id, *args)

        monkeypatch.setattr(outbox, "compose", fail_for_one)
        Worker().round()

        assert [message["To"] for message in server.messages] == ["good@example.com"]


def sign_up(service, email="new@example.com"):
    return ask(service.url, "POST", "/auth/signup", {"email": email})


DATABASES = ["postgresql", "sqlite"]
LEASES_END = (
    "from mail.models import OutgoingMail; from django.utils import timezone;"
    "OutgoingMail.objects.update(due_at=timezone.now())"
)


@pytest.mark.parametrize("database", DATABASES)
class TestProcesses:
    """The worker as production runs it: a process of its own beside gunicorn."""

    @pytest.fixture
    def service(self, new_service, server, database, tmp_path):
        environment = {"EMAIL_URL": f"smtp://127.0.0.1:{server.port}"}
        if database == "sqlite":
            environment |= {"DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3"}
        service = new_service(**environment)
        if database == "sqlite":
            service.manage("migrate", "-v0")
        return service.start()

    def test_slow_server_delays_no_sign_up(self, service, server):
        server.delay = 2
        server.start()
        service.spawn("manage.py", "sendmail")
        sign_up(service, "first@example.com")
        assert server.in_data.wait(10)

        begin = time.monotonic()
        answer = sign_up(service, "second@example.com")

        assert answer.status == 200
        assert time.monotonic() - begin < server.delay
        wait_until(lambda: len(server.messages) == 2)

    def test_mail_of_a_killed_worker_is_sent(self, service, server):
        server.delay = 60
        server.start()
        worker = service.spawn("manage.py", "sendmail")
        sign_up(service)
        assert server.in_data.wait(10)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        server.stop()
        server.delay = 0
        server.start()

        service.manage("shell", "--no-imports", "-c", LEASES_END)
        service.spawn("manage.py", "sendmail")

        wait_until(lambda: server.messages)
        url = link_in(server.messages[0])
        body = {"token": url.partition("=")[2], "account_name": "A", "first_name": "A"}
        body |= {"last_name": "B", "password": "correct horse"}
        answer = ask(service.url, "POST", "/auth/complete-signup", body)
        assert answer.status == 200


def test_worker_ends_at_once_on_sigterm(new_service):
    service = new_service()
    worker = service.spawn("manage.py", "sendmail")
    wait_until(lambda: "mail worker started" in service.log)

    worker.terminate()

    assert worker.wait(15) == 0
