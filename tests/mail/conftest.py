"""A real SMTP server for tests, and a requested mail."""

import asyncio
import email
import email.policy
import threading

import pytest
from aiosmtpd.controller import Controller
from django.utils import timezone

from mail.outbox import OutgoingMail
from signin.models import SignupLink
from tests.servers import free_port
from worker.rounds import Worker


class MailServer:
    """A real SMTP server, which keeps its port while it is stopped."""

    def __init__(self):
        self.port = free_port()
        self.messages = []
        self.greetings = []  # the clients' names
        self.answers = []  # the next answers to DATA; then 250
        self.unwanted = {}  # what is answered to RCPT for an address; then 250
        self.delay = 0.0
        self.in_data = threading.Event()

    async def handle_EHLO(  # noqa: N802
        self, server, session, envelope, hostname, responses
    ):
        self.greetings.append(hostname)
        session.host_name = hostname
        return responses

    async def handle_RCPT(  # noqa: N802
        self, server, session, envelope, address, options
    ):
        if address not in self.unwanted:
            envelope.rcpt_tos.append(address)
        return self.unwanted.get(address, "250 OK")

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
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
        self.controller.stop()

    def receivers(self):
        return [message["To"] for message in self.messages]


@pytest.fixture
def server(settings):
    """A running mail server, to which the service's settings lead."""
    server = MailServer()
    settings.EMAIL_BACKEND = "mail.smtp.SmtpBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
    server.start()
    yield server
    server.stop()


def work_again():
    """Make all mails due, and work a round."""
    OutgoingMail.objects.update(due_at=timezone.now())
    Worker().work_round()


def request(email="new@example.com"):
    OutgoingMail.objects.request_mail(SignupLink, email, "en")
    return OutgoingMail.objects.get(email=email)
