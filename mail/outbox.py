"""The outbox: requested mails, and the state of each.

A mail that anyone can ask for is *requested*: the worker decides whether there is a link to send.
The mail of an existing link is *queued* in the transaction that creates the link. A *notice* has no
link: it reports a change, and is queued in the transaction of the change. The worker can be killed
at any point: the mail is due again when its lease ends. Only if it is killed after the mail server
accepted the mail and before that is stored is a mail sent twice, with the same link and Message-ID.
"""

import logging
import secrets
import uuid
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import models
from django.db.models import Case, Count, Min, Q, Value, When
from django.utils import timezone

import audit
from audit.actors import Actor
from audit.models import PREFIX_OPCLASS, Kind
from audit.recording import storable_caller
from base.batches import delete_in_batches
from base.caller import current_caller
from base.emails import CanonicalEmailField
from mail.budget import DAY, HOUR, Budget, MailBudget
from mail.links import RETENTION, EmailedLink
from mail.notices import PREFIX, Notice

logger = logging.getLogger(__name__)

LEASE = timedelta(minutes=5)  # for one worker to process a mail
LONGEST_RETRY_PAUSE = timedelta(minutes=15)
# Requested mails wait for a random part of this. Otherwise the time between two mails would tell
# whether those requested in between were sent, so whether their addresses are registered.
SPREAD = timedelta(seconds=5)
GIVE_UP_AFTER = timedelta(days=3)
TRIES = 10  # before it is given up, however long no worker ran


def retry_pause(attempts: int) -> timedelta:
    """The pause after this many failed attempts: 1 s, 2 s, 4 s … 15 min."""
    return min(timedelta(seconds=2 ** min(attempts - 1, 20)), LONGEST_RETRY_PAUSE)


class State(models.TextChoices):
    REQUESTED = "requested", "requested"
    READY = "ready", "ready to send"
    SENT = "sent", "sent"
    DROPPED = "dropped", "dropped"
    FAILED = "failed", "given up"
    REFUSED = "refused", "refused for good"


def states() -> list[tuple[str, Any]]:
    """The choices, as a function so that a new state needs no migration."""
    return State.choices


WAITING_STATES = [State.REQUESTED, State.READY]
MAX_MAILS_COUNTED = 10_000  # more are not counted
# Requests that wait undecided for one budget, about: parallel ones can be a few more.
MAX_WAITING_REQUESTS = 20
MAIL_STUCK_AFTER = timedelta(minutes=5)  # how long a mail that could be sent may wait
MAILBOX_IS_FULL = "hourly limit of this mailbox reached"  # a `problem`
FINAL_STATES = {State.SENT, State.DROPPED, State.FAILED, State.REFUSED}


class UnknownKind(LookupError):
    """This release does not know the kind of mail."""


class Queue(NamedTuple):
    """The mails that wait in the outbox."""

    due: int  # mails that could be sent now
    longest: timedelta  # how long the first of them has been due; zero if there is none
    put_off: int  # mails that are due later, mostly since they failed


def caller_as_json() -> dict[str, object]:
    """The caller of the current work, for JSON."""
    return asdict(storable_caller(current_caller.get()))


class OutgoingMailManager(models.Manager["OutgoingMail"]):
    def request_mail(
        self,
        kind: type[EmailedLink],
        email: str,
        language: str,
        context: dict[str, object] | None = None,
        user_id: str = "",
    ) -> bool:
        """Request a mail with a link of this kind to a canonical address. Returns False if it is
        dropped. `context` is for the kind's `for_mail`; a mail without one is a stranger's.
        `user_id` is the id of the signed-in user who requests it.

        Requests beyond Budget.requests are dropped, and so are those for which
        MAX_WAITING_REQUESTS of its mailbox wait. Both count what was requested, whether or not
        there will be a link: otherwise they would reveal which addresses are registered.
        """
        label, budget = kind._meta.label_lower, Budget.requests(kind, email, user_id)
        number = MailBudget.objects.count_mail(budget)
        if number > budget.limit:
            if number == budget.limit + 1:  # once an hour: a flood must not fill the log
                logger.warning("more than %d requests an hour: %s", budget.limit, label)
            return False
        due_at = timezone.now() + SPREAD * secrets.randbelow(1000) / 1000
        facts = {"origin": caller_as_json(), "context": context, "due_at": due_at}
        mail = self.model(kind=label, email=email, language=language, **facts)
        mail.budget_key = mail.budget.key
        if not kind.only_for_registered:
            waiting = self.filter(budget_key=mail.budget_key, state=State.REQUESTED)
            if waiting.count() >= MAX_WAITING_REQUESTS:
                return False
        mail.save(force_insert=True)
        return True

    def queue_link(self, link: EmailedLink) -> None:
        """Queue the mail of a link, in the transaction that creates or renews the link."""
        kind, language = link._meta.label_lower, link.language
        facts = {"link_id": link.pk, "state": State.READY}
        mail = self.model(kind=kind, email=link.email, language=language, **facts)
        mail.budget_key = mail.budget.key
        mail.save(force_insert=True)

    def queue_notice(self, notice: Notice) -> None:
        """Queue a notice about a change in this transaction, or drop it beyond Budget.notices."""
        if Budget.notices(PREFIX + notice.mail_name, notice.email).spend():
            self.build_notice(notice).save()

    def queue_notices(self, notices: Iterable[Notice]) -> None:
        """Queue many notices at once, without the hourly limit."""
        self.bulk_create(map(self.build_notice, notices), batch_size=500)

    def build_notice(self, notice: Notice) -> "OutgoingMail":
        return self.model(
            kind=PREFIX + notice.mail_name,
            email=notice.email,
            language=notice.language,
            context=notice.context,
            origin=caller_as_json(),
            state=State.READY,
        )

    def newest_delivery(self, link_id: Any) -> models.QuerySet["OutgoingMail", Any]:
        """The state of a link's newest mail, as a query of one value at most: `sent`, `waiting`, or
        `refused`, which includes dropped and given up."""
        never = Q(state__in=[State.FAILED, State.DROPPED, State.REFUSED])
        delivery = Case(
            When(state=State.SENT, then=Value("sent")),
            When(never, then=Value("refused")),
            default=Value("waiting"),
        )
        mails = self.filter(link_id=link_id).order_by("-created_at").annotate(delivery=delivery)
        return mails.values_list("delivery", flat=True)[:1]

    def still_waiting(self) -> models.QuerySet["OutgoingMail"]:
        """Mails that are not yet decided or sent."""
        return self.filter(state__in=WAITING_STATES)

    def next_due(self, by: datetime | None = None) -> "OutgoingMail | None":
        """The mail to process next, of those that are due now or `by` a time, the longest first:
        links for users and notices before what strangers request, which can be very many."""
        due = self.filter(due_at__lte=by or timezone.now()).order_by("due_at", "created_at")
        requested = due.filter(state=State.REQUESTED)
        for_users = Q(kind__in=EmailedLink.labels_for_registered())
        by_users = requested.filter(for_users | Q(context__isnull=False))
        return due.filter(state=State.READY).first() or by_users.first() or requested.first()

    def put_off(self, mail: "OutgoingMail") -> None:
        """Let a mail wait until its budget's window ends, and by the same statement all others that
        wait for that budget, so that the worker need not try each of them.

        In a transaction. Leaves out rows that others have locked: an erasure deletes them.
        """
        budget = mail.budget
        ends_at = MailBudget.objects.window_end(budget)
        uncounted = Q(budget_key=budget.key, counted_at=None, due_at__lt=ends_at)
        waiting = self.still_waiting().filter(uncounted | Q(pk=mail.pk)).order_by()
        unlocked = waiting.select_for_update(skip_locked=True).values("pk")
        wait = {"due_at": ends_at, "problem": MAILBOX_IS_FULL}
        self.filter(pk__in=unlocked).update(budget_key=budget.key, **wait)

    def measure_queue(self) -> Queue:
        """The waiting mails, counted up to MAX_MAILS_COUNTED by one statement."""
        now = timezone.now()
        is_due = Q(due_at__lte=now)
        waiting = self.still_waiting().order_by("due_at")[:MAX_MAILS_COUNTED]
        due, put_off = Count("pk", filter=is_due), Count("pk", filter=~is_due)
        found = waiting.aggregate(due=due, put_off=put_off, first=Min("due_at"))
        first = found.pop("first")
        return Queue(**found, longest=max(now - first, timedelta()) if first else timedelta())

    def count_of_last_hour(self) -> dict[str, int]:
        """The mails of the last hour, counted by state."""
        recent = self.filter(created_at__gt=timezone.now() - HOUR).order_by()
        return dict(recent.values_list("state").annotate(Count("pk")))

    def count_given_up(self) -> int:
        """The mails given up in about the last hour, without refused ones."""
        until = timezone.now() - GIVE_UP_AFTER
        asked = (until - HOUR - LONGEST_RETRY_PAUSE, until)
        return self.filter(state=State.FAILED, created_at__range=asked).count()

    def prune_expired(self) -> int:
        """Delete mails dropped a day ago, mails that ended otherwise 30 days ago, and requests that
        have waited for their budget for GIVE_UP_AFTER. Dropped mails go sooner, since anyone can
        request them. Also makes due what is due in more than a day: a host's clock was wrong.
        """
        now = timezone.now()
        self.still_waiting().filter(due_at__gt=now + DAY).update(due_at=now)
        dropped = Q(state=State.DROPPED, created_at__lte=now - DAY)
        ended = Q(state__in=FINAL_STATES, created_at__lte=now - RETENTION)
        too_long = {"problem": MAILBOX_IS_FULL, "created_at__lte": now - GIVE_UP_AFTER}
        held = Q(state=State.REQUESTED, **too_long)
        return delete_in_batches(self.filter(dropped | ended | held))


class OutgoingMail(models.Model):
    """A mail and its state. Its text is rendered when it is sent."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=60)  # the label of the link's model, or notice.<kind>
    link_id = models.UUIDField(null=True, editable=False)
    email = CanonicalEmailField("e-mail address")
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, default="en")
    state = models.CharField(max_length=10, choices=states, default=State.REQUESTED)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    due_at = models.DateTimeField(default=timezone.now, editable=False)
    sent_at = models.DateTimeField(null=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)
    counted_at = models.DateTimeField(null=True, editable=False)  # in its budget
    problem = models.CharField(max_length=200, blank=True, editable=False)
    # Of `budget`. Empty for notices, and for what 2.1.0 wrote until it has waited for its budget.
    budget_key = models.CharField(max_length=64, db_default="", editable=False)
    origin = models.JSONField(default=dict, editable=False)  # of the request: base.caller.Caller
    # Of a notice or a request.
    context = models.JSONField(null=True, editable=False, db_default=None)

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
            models.Index(
                fields=["budget_key"],
                condition=Q(state__in=["requested", "ready"]),
                name="mail_of_budget",
            ),
            models.Index(fields=["created_at"], name="mail_by_age"),
            models.Index(fields=["link_id"], name="mail_of_link"),
            models.Index(fields=["email"], name="mail_of_address", opclasses=[PREFIX_OPCLASS]),
        ]

    def __str__(self) -> str:
        return f"{self.kind_name.capitalize()} to {self.email}"

    @property
    def kind_name(self) -> str:
        """The kind in words: "invitation", "password changed". The kind itself if this release does
        not know it."""
        if self.kind.startswith(PREFIX):
            return self.kind.removeprefix(PREFIX).replace("_", " ")
        try:
            return str(self.link_model._meta.verbose_name)
        except UnknownKind:
            return self.kind

    @property
    def link_model(self) -> type[EmailedLink]:
        """Raises UnknownKind for a kind of another release. Such mails are tried again later, so
        that a worker of that release can send them during an upgrade or rollback."""
        try:
            return EmailedLink.models_by_label()[self.kind]
        except KeyError:
            raise UnknownKind(self.kind) from None

    def find_link(self) -> EmailedLink | None:
        if self.link_id is None:
            return None
        return self.link_model._default_manager.filter(pk=self.link_id).first()

    def find_content(self) -> EmailedLink | Notice | None:
        """The notice, or the link, if there is one."""
        if not self.kind.startswith(PREFIX):
            return self.find_link()
        name = self.kind.removeprefix(PREFIX)
        return Notice(name, self.email, self.language, self.context or {})

    def lease(self) -> bool:
        """Take the mail for LEASE by one committed statement. False if another worker has it.

        If the worker is killed, the mail is due again when the lease ends.
        """
        free = OutgoingMail.objects.filter(pk=self.pk, state=self.state, due_at=self.due_at)
        self.due_at = timezone.now() + LEASE
        return bool(free.update(due_at=self.due_at))

    @property
    def budget(self) -> Budget:
        """The budget that its link counts in. What a signed-in user caused counts apart from what
        strangers request, which so can't hold it back."""
        if not self.origin or self.context is not None:  # an existing link, or a user's request
            return Budget.links_by_users(self.email)
        if self.link_model.only_for_registered:
            return Budget.links_for_user(self.email)
        return Budget.links_by_strangers(self.email)

    def try_again(self, actor: Actor) -> None:
        """Send it as soon as possible. In a transaction. Raises PermissionDenied if the actor may
        not act on the recipient, or on its link."""
        actor.require_can_manage_email(self.email)
        actor.require_can_manage(self.find_link())
        row = OutgoingMail.objects.filter(pk=self.pk)
        row.update(state=State.READY, due_at=timezone.now())
        audit.record(Kind.MAIL_RETRIED, actor=actor, subject=self.email)
