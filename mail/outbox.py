"""The outbox: mails that were asked for, and what has become of each.

What a stranger asks for is *requested*: the worker finds out what it comes to, a link or nothing.
The mail of a link that exists already is *announced*, in the transaction that makes the link. A
mail without a link *tells* of what was done, asked for in the transaction that does it. The worker
can be cut off at any point, and the mail is taken up again. Only a kill between the mail server's
acceptance and our note of it sends a mail twice, with the same link and Message-ID.
"""

import contextlib
import logging
import smtplib
import uuid
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, models, transaction
from django.db.models import Q
from django.utils import timezone

from audit import trail
from audit.models import Kind
from audit.origin import current
from audit.pruning import delete_in_batches
from mail.budget import DAY, HOUR, MailBudget
from mail.emails import CanonicalEmailField
from mail.links import KEPT_FOR, EmailedLink
from mail.message import compose, origin_context
from mail.notices import PREFIX, Notice
from mail.tally import MailTally

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


ENDS = {State.SENT, State.DROPPED, State.FAILED}


def present_origin() -> dict[str, Any]:
    """Where the work in hand comes from, as JSON can hold it."""
    return asdict(current.get().bounded())


class OutgoingMailManager(models.Manager["OutgoingMail"]):
    def request(self, kind: type[EmailedLink], email: str, language: str) -> None:
        """Ask for a mail with a link of this kind to a canonical address, for a stranger.

        MAIL_PER_ADDRESS_PER_HOUR of each kind are taken for each address, and more are dropped.
        They count whether or not a mail comes of them: if only the mails that were sent did, the
        budget would tell who has a user here.
        """
        label, limit = kind._meta.label_lower, kind.per_hour or settings.MAIL_PER_ADDRESS_PER_HOUR
        number = MailBudget.objects.take(f"{label} {email}", HOUR)
        if number <= limit:
            self.create(kind=label, email=email, language=language, origin=present_origin())
        elif number == limit + 1:  # once an hour: a flood must not fill the log
            logger.warning("more than %d requests an hour for one address: %s", limit, label)

    def announce(self, link: EmailedLink) -> None:
        """Ask for the mail of a link, in the transaction that has made or renewed it."""
        self.create(
            kind=link._meta.label_lower,
            email=link.email,
            language=link.language,
            link_id=link.pk,
            state=State.READY,
        )

    def tell(self, notice: Notice) -> None:
        """Ask for a mail that tells of what is done in this transaction, by whoever is at work."""
        self.create(
            kind=PREFIX + notice.kind,
            email=notice.email,
            language=notice.language,
            context=notice.context,
            origin=present_origin(),
            state=State.READY,
        )

    def waiting(self) -> models.QuerySet["OutgoingMail"]:
        """What is still to be decided or sent, what is tried again later included."""
        return self.filter(state__in=[State.REQUESTED, State.READY])

    def due(self, state: State, by: datetime | None = None) -> models.QuerySet["OutgoingMail"]:
        """Those in this state that are due by then, by default by now; due longest comes first."""
        return self.filter(state=state, due_at__lte=by or timezone.now()).order_by("due_at")

    def oldest_waiting(self) -> timedelta:
        """The age of the mail that has waited longest; zero when none waits."""
        oldest = self.waiting().order_by("created_at").first()
        return timezone.now() - oldest.created_at if oldest else timedelta()

    def prune(self) -> int:
        """Delete what was dropped a day ago, and what was sent or given up 30 days ago; how many.

        Anybody can ask for mails that come to nothing, so those go sooner.
        """
        now = timezone.now()
        dropped = Q(state=State.DROPPED, created_at__lte=now - DAY)
        ended = Q(state__in=[State.SENT, State.FAILED], created_at__lte=now - KEPT_FOR)
        return delete_in_batches(self.filter(dropped | ended))


class OutgoingMail(models.Model):
    """A mail that was asked for, and what has become of it. Its text is made when it is sent."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=60)  # the label of the link's model, or notice.<kind>
    link_id = models.UUIDField(null=True, editable=False)
    email = CanonicalEmailField("e-mail address")
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, default="en")
    state = models.CharField(max_length=10, choices=State.choices, default=State.REQUESTED)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    due_at = models.DateTimeField(default=timezone.now, editable=False)
    sent_at = models.DateTimeField(null=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)
    problem = models.CharField(max_length=200, blank=True, editable=False)
    origin = models.JSONField(default=dict, editable=False)  # of the request: audit.origin.Origin
    context = models.JSONField(null=True, editable=False, db_default=None)  # a notice's

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
            models.Index(fields=["created_at"], name="mail_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} to {self.email}"

    @property
    def kind_name(self) -> str:
        """What the mail is about, in words: "invitation", "password changed"."""
        if self.kind.startswith(PREFIX):
            return self.kind.removeprefix(PREFIX).replace("_", " ")
        return str(self.model._meta.verbose_name)

    @property
    def model(self) -> type[EmailedLink]:
        return apps.get_model(self.kind)

    def link(self) -> EmailedLink | None:
        if self.link_id is None:
            return None
        return self.model._default_manager.filter(pk=self.link_id).first()

    def notice(self) -> Notice | None:
        if not self.kind.startswith(PREFIX):
            return None
        kind = self.kind.removeprefix(PREFIX)
        return Notice(kind, self.email, self.language, self.context or {})

    def subject_matter(self) -> EmailedLink | Notice | None:
        """What there is to send: a notice, or a link that still works."""
        if notice := self.notice():
            return notice
        link = self.link()
        return link if link is not None and link.is_live() else None

    def set_state(self, state: State, **fields: Any) -> None:
        self.state = state
        for name, value in fields.items():
            setattr(self, name, value)
        self.save(update_fields=["state", *fields])
        if state in ENDS:
            # Once it is committed: a worker that stops before that would hold up all the others.
            transaction.on_commit(partial(MailTally.objects.add, state))

    def decide(self) -> None:
        """Find out what a request comes to: a mail that is ready to be sent, or nothing."""
        link = self.model.for_mail(self)
        if link is None:
            self.set_state(State.DROPPED, problem="nothing to send")
        else:
            self.set_state(State.READY, link_id=link.pk, language=link.language)

    def send(self, server: Any) -> bool:
        """Send through an open connection, and note what came of it.

        False when the server itself, rather than this mail, seems to be in trouble.
        """
        matter = self.subject_matter()
        if matter is None:
            self.set_state(State.DROPPED, problem="its link is no longer live")
            return True
        try:
            told = origin_context(self.created_at, self.origin)
            server.send_messages([compose(self.pk, matter, self.language, told)])
        except DatabaseError:
            raise
        except Exception as error:
            with contextlib.suppress(*PROBLEMS):
                server.close()  # the next mail gets a new connection
            self.note_failure(error)
            return isinstance(error, smtplib.SMTPException) and not isinstance(
                error, smtplib.SMTPServerDisconnected
            )
        now = timezone.now()
        matter.mail_was_sent(now)
        self.set_state(State.SENT, sent_at=now, attempts=self.attempts + 1, problem="")
        logger.info("mail %s sent", self.pk)
        return True

    def try_again(self, actor: trail.Actor) -> None:
        """Have it sent as soon as can be. In a transaction; PermissionDenied where the actor may
        not act on whom it is for, or on what its link leads to."""
        actor.check_reach_of_email(self.email)
        actor.check_reach(self.link())
        self.set_state(State.READY, due_at=timezone.now())
        trail.record(Kind.MAIL_RETRIED, actor=actor, subject=self.email)

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
