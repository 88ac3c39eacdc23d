"""The outbox: mails that were asked for, and what has become of each.

A mail is requested by a row, in the transaction of what it announces. The worker then decides what
the request comes to (which link, or nothing: the address may have a user already, or have had its
mails of the hour) and sends it. Both steps can be cut off at any point and are taken up again;
only a kill between the server's acceptance and our note of it sends a mail twice, with the same
link and the same Message-ID.
"""

import contextlib
import logging
import smtplib
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection, models, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.emails import CanonicalEmailField
from accounts.mail.links import KEPT_FOR, EmailedLink
from accounts.mail.message import compose
from audit.pruning import delete_in_batches

logger = logging.getLogger(__name__)

LONGEST_PAUSE = timedelta(minutes=15)
GIVE_UP_AFTER = timedelta(days=3)
PROBLEMS = (OSError, smtplib.SMTPException, UnicodeError)


def pause(attempts: int) -> timedelta:
    """How long to wait after so many failed attempts: 1 s, 2 s, 4 s … 15 min."""
    return min(timedelta(seconds=2 ** min(attempts - 1, 20)), LONGEST_PAUSE)


class State(models.TextChoices):
    REQUESTED = "requested", "requested"
    READY = "ready", "ready to send"
    SENT = "sent", "sent"
    DROPPED = "dropped", "dropped"
    FAILED = "failed", "given up"


class OutgoingMailManager(models.Manager["OutgoingMail"]):
    def request(self, kind: type[EmailedLink], email: str, language: str) -> "OutgoingMail":
        """Ask for a mail with a link of this kind; what comes of it is decided by the worker."""
        return self.create(kind=kind._meta.label_lower, email=email, language=language)

    def announce(self, link: EmailedLink) -> bool:
        """Ask for the mail of a link that exists already, in the transaction that made it.

        Decided at once: False when the address has had its mails of the hour.
        """
        with deciding():
            mail = self.create(kind=link._meta.label_lower, email=link.email, link_id=link.pk)
            mail.decide(timezone.now())
        return mail.state == State.READY

    def prune(self) -> int:
        """Delete what was sent, dropped or given up and is 30 days old; how many."""
        old = self.filter(created_at__lte=timezone.now() - KEPT_FOR)
        return delete_in_batches(old.exclude(state__in=[State.REQUESTED, State.READY]))

    def is_flooded(self, email: str) -> bool:
        """Whether an address has had its mails of the hour."""
        an_hour_ago = timezone.now() - timedelta(hours=1)
        recent = self.filter(email=email, decided_at__gt=an_hour_ago)
        recent = recent.filter(state__in=[State.READY, State.SENT])
        return recent.count() >= settings.MAIL_PER_ADDRESS_PER_HOUR


class OutgoingMail(models.Model):
    """A mail that was asked for, and what has become of it. Its text is made when it is sent."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=60)  # the label of the link's model
    link_id = models.UUIDField(null=True, editable=False)
    email = CanonicalEmailField("e-mail address")
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, default="en")
    state = models.CharField(max_length=10, choices=State.choices, default=State.REQUESTED)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    decided_at = models.DateTimeField(null=True, editable=False)
    due_at = models.DateTimeField(default=timezone.now, editable=False)
    sent_at = models.DateTimeField(null=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)
    problem = models.CharField(max_length=200, blank=True, editable=False)

    objects = OutgoingMailManager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "outgoing mail"
        verbose_name_plural = "outgoing mail"
        indexes = [
            models.Index(
                fields=["state", "due_at"],
                condition=Q(state__in=["requested", "ready"]),
                name="mail_waiting",
            ),
            models.Index(fields=["email", "decided_at"], name="mail_of_the_hour"),
            models.Index(fields=["created_at"], name="mail_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} to {self.email}"

    @property
    def kind_name(self) -> str:
        """What the mail is about, in words: "invitation"."""
        return str(self.model._meta.verbose_name)

    @property
    def model(self) -> type[EmailedLink]:
        return apps.get_model(self.kind)

    def link(self) -> EmailedLink | None:
        if self.link_id is None:
            return None
        return self.model._default_manager.filter(pk=self.link_id).first()

    def set_state(self, state: State, **fields: Any) -> None:
        self.state = state
        for name, value in fields.items():
            setattr(self, name, value)
        self.save(update_fields=["state", *fields])

    def decide(self, now: datetime) -> None:
        """Turn a request into a mail that is ready to be sent, or drop it."""
        if OutgoingMail.objects.is_flooded(self.email):
            logger.warning("mail %s dropped: the address has had its mails of the hour", self.pk)
            self.set_state(State.DROPPED, decided_at=now, problem="too many mails in an hour")
            return
        link = self.model.for_mail(self)
        if link is None:
            self.set_state(State.DROPPED, decided_at=now, problem="nothing to send")
        else:
            self.set_state(State.READY, decided_at=now, link_id=link.pk, language=link.language)

    def send(self, server: Any) -> bool:
        """Send through an open connection, and note what came of it.

        False when the server itself, rather than this mail, seems to be in trouble.
        """
        link = self.link()
        if link is None or not link.is_live():
            self.set_state(State.DROPPED, problem="its link is no longer live")
            return True
        try:
            server.send_messages([compose(self.pk, link, self.language)])
        except DatabaseError:
            raise
        except Exception as error:
            self.note_failure(error)
            with contextlib.suppress(*PROBLEMS):
                server.close()  # the next mail gets a new connection
            return isinstance(error, smtplib.SMTPException) and not isinstance(
                error, smtplib.SMTPServerDisconnected
            )
        now = timezone.now()
        link.mail_was_sent(now)
        self.set_state(State.SENT, sent_at=now, attempts=self.attempts + 1, problem="")
        logger.info("mail %s sent", self.pk)
        return True

    def note_failure(self, error: Exception) -> None:
        """Try again later; give up after three days. Only the error's kind and code are kept: a
        server's words may repeat what we sent."""
        now = timezone.now()
        attempts = self.attempts + 1
        state = State.READY if now - self.created_at < GIVE_UP_AFTER else State.FAILED
        problem = failure_summary(error)
        unexpected = None if isinstance(error, PROBLEMS) else error
        logger.warning(
            "mail %s not sent (%s), attempt %d", self.pk, problem, attempts, exc_info=unexpected
        )
        self.set_state(state, attempts=attempts, due_at=now + pause(attempts), problem=problem)


def failure_summary(error: Exception) -> str:
    """The kind of a mail server's refusal and its reply code (RFC 5321 §4.2), if it gave one."""
    code = getattr(error, "smtp_code", None)
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code = next(iter(error.recipients.values()))[0]
    return type(error).__name__ + (f" {code}" if code else "")


@contextlib.contextmanager
def deciding() -> Iterator[None]:
    """A transaction in which nobody else decides on mails.

    Requests are decided one after another over all workers and calls, so that the mails of an
    hour are counted exactly; it is a matter of milliseconds.
    """
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(hashtext('accounts.mail.decide'))")
        yield
