"""The outbox: the mails to send, and the state of each.

- A mail that anyone can ask for is *requested*; the worker decides whether there is a link to send.
- The mail of an existing link is *queued* in the transaction that creates the link.
- A *notice* has no link. It is queued in the transaction of the change that it reports.

A mail is sent twice if the mail server has accepted it, but the outcome can't be stored, such as if
the worker is killed, or if support staff try it again while it is sent. Both copies have the same
link and Message-ID.
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
from mail.budget import DAY, HOUR, Budget
from mail.links import RETENTION, EmailedLink
from mail.notices import NOTICE_PREFIX, Notice

logger = logging.getLogger(__name__)

MAIL_LEASE = timedelta(minutes=5)  # for which one worker has a mail to itself
LONGEST_RETRY_PAUSE = timedelta(minutes=15)
# A requested mail waits for a random part of this. Otherwise the time between two mails would tell
# whether mails requested in between were sent, and so whether their addresses are registered.
REQUEST_SPREAD = timedelta(seconds=5)
GIVE_UP_AFTER = timedelta(days=3)  # after a mail was queued, once GIVE_UP_ATTEMPTS have failed
GIVE_UP_ATTEMPTS = 10  # attempts before a mail is given up, even if no worker ran for days


def retry_pause(attempts: int) -> timedelta:
    """The pause after this many consecutive failures: 1 s, 2 s, 4 s … 15 min."""
    return min(timedelta(seconds=2 ** min(attempts - 1, 20)), LONGEST_RETRY_PAUSE)


class MailState(models.TextChoices):
    """REQUESTED mails wait for the worker's decision, READY mails to be sent. A mail ends as SENT,
    DROPPED (there was nothing to send), FAILED (given up) or REFUSED (its mailbox takes no mail).
    """

    REQUESTED = "requested", "requested"
    READY = "ready", "ready to send"
    SENT = "sent", "sent"
    DROPPED = "dropped", "dropped"
    FAILED = "failed", "given up"
    REFUSED = "refused", "refused for good"


def states() -> list[tuple[str, Any]]:
    """The choices of `OutgoingMail.state`: a function, so that a new state needs no migration."""
    return MailState.choices


WAITING_STATES = [MailState.REQUESTED, MailState.READY]
MAX_MAILS_COUNTED = 10_000  # waiting mails that `measure_queue` counts at most
# Undecided requests that may wait for one budget. Parallel requests can exceed it by a few.
MAX_WAITING_REQUESTS = 20
MAIL_STUCK_AFTER = timedelta(minutes=5)  # for which a healthy worker leaves no due mail waiting
MAILBOX_LIMIT_REACHED = "hourly limit of this mailbox reached"  # as `OutgoingMail.problem`
FINAL_STATES = {MailState.SENT, MailState.DROPPED, MailState.FAILED, MailState.REFUSED}


class UnknownKind(LookupError):
    """The kind of the mail belongs to another release."""


class Queue(NamedTuple):
    """How many mails wait in the outbox, and how long."""

    due: int  # mails that are due now
    put_off: int  # mails that are due later, most of them since they failed
    longest: timedelta  # for which the first due mail has been due; zero without one


def caller_as_json() -> dict[str, object]:
    """The current Caller as a JSON object, with its client-made texts limited in length."""
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
        """Store a request for a mail with a link of this kind to a canonical address. The worker
        decides whether there is a link to send. Returns whether the request was stored.

        `context` is for the kind's `for_mail`; None marks a request by a stranger. `user_id` is the
        id of the signed-in user who makes the request, "" for a stranger.

        A request beyond Budget.requests is dropped, and one for a link that anyone may get also if
        MAX_WAITING_REQUESTS wait for the budget of its mail. Both limits count every request, also
        without a link, or they would reveal which addresses are registered.
        """
        label, budget = kind._meta.label_lower, Budget.requests(kind, email, user_id)
        number = budget.count_mail()
        if number > budget.limit:
            if number == budget.limit + 1:  # once an hour: a flood must not fill the log
                logger.warning("more than %d requests an hour: %s", budget.limit, label)
            return False
        due_at = timezone.now() + REQUEST_SPREAD * secrets.randbelow(1000) / 1000
        request = {"origin": caller_as_json(), "context": context, "due_at": due_at}
        mail = self.model(kind=label, email=email, language=language, **request)
        if not kind.only_for_registered:
            mail.budget_key = mail.budget.key
            waiting = self.filter(budget_key=mail.budget_key, state=MailState.REQUESTED)
            if waiting.count() >= MAX_WAITING_REQUESTS:
                return False
        mail.save(force_insert=True)
        return True

    def queue_link(self, link: EmailedLink) -> None:
        """Queue the mail of a stored link. Call it in the transaction that creates or renews the
        link. If the link ends before the mail is sent, the worker drops the mail."""
        self.create(
            kind=link._meta.label_lower,
            email=link.email,
            language=link.language,
            link_id=link.pk,
            state=MailState.READY,
        )

    def queue_notice(self, notice: Notice) -> None:
        """Queue a notice. Call it in the transaction of the change that the notice reports. Beyond
        Budget.notices it is dropped without an error."""
        if Budget.notices(NOTICE_PREFIX + notice.mail_name, notice.email).spend():
            self.build_notice(notice).save()

    def queue_notices(self, notices: Iterable[Notice]) -> None:
        """Queue many notices at once, as `queue_notice` does, but without counting them in
        Budget.notices: none is dropped."""
        self.bulk_create(map(self.build_notice, notices), batch_size=500)

    def build_notice(self, notice: Notice) -> "OutgoingMail":
        """An unsaved mail of the notice, ready to send."""
        return self.model(
            kind=NOTICE_PREFIX + notice.mail_name,
            email=notice.email,
            language=notice.language,
            context=notice.context,
            origin=caller_as_json(),
            state=MailState.READY,
        )

    def newest_delivery(self, link_id: Any) -> models.QuerySet["OutgoingMail", Any]:
        """What became of a link's newest mail: a query with one value, "sent", "waiting", or
        "refused" (also for dropped and given-up mails); empty if the link has no mail. `link_id` is
        an id or, in a subquery, an OuterRef."""
        unsent = Q(state__in=[MailState.FAILED, MailState.DROPPED, MailState.REFUSED])
        delivery = Case(
            When(state=MailState.SENT, then=Value("sent")),
            When(unsent, then=Value("refused")),
            default=Value("waiting"),
        )
        mails = self.filter(link_id=link_id).order_by("-created_at").annotate(delivery=delivery)
        return mails.values_list("delivery", flat=True)[:1]

    def still_waiting(self) -> models.QuerySet["OutgoingMail"]:
        """Mails in a state of WAITING_STATES: due now or later."""
        return self.filter(state__in=WAITING_STATES)

    def next_due(self, by: datetime | None = None) -> "OutgoingMail | None":
        """The mail to process next: one that is due now, or at the time `by`; None if there is
        none. It is not leased yet: another worker may get the same one.

        READY mails come first, then requests by users or for links that only users get, then other
        requests, of which strangers can make very many; in each group, the one due longest.
        """
        due = self.filter(due_at__lte=by or timezone.now()).order_by("due_at", "created_at")
        requested = due.filter(state=MailState.REQUESTED)
        for_users = Q(kind__in=EmailedLink.labels_for_registered())
        by_users = requested.filter(for_users | Q(context__isnull=False))
        return due.filter(state=MailState.READY).first() or by_users.first() or requested.first()

    def measure_queue(self) -> Queue:
        """How many waiting mails are due now and how many later, and for how long the first has
        been due. Only the first MAX_MAILS_COUNTED by due time are counted."""
        now = timezone.now()
        is_due = Q(due_at__lte=now)
        waiting = self.still_waiting().order_by("due_at")[:MAX_MAILS_COUNTED]
        due, put_off = Count("pk", filter=is_due), Count("pk", filter=~is_due)
        counts = waiting.aggregate(due=due, put_off=put_off, first_due_at=Min("due_at"))
        first_due_at = counts.pop("first_due_at") or now
        return Queue(**counts, longest=max(now - first_due_at, timedelta()))

    def count_of_last_hour(self) -> dict[str, int]:
        """The numbers of mails of the last hour, by their present state. States that do not occur
        are left out."""
        recent = self.filter(created_at__gt=timezone.now() - HOUR).order_by()
        return dict(recent.values_list("state").annotate(Count("pk")))

    def count_given_up(self) -> int:
        """About how many mails were given up in the last hour. The time is not stored, but guessed
        from when they were queued."""
        end = timezone.now() - GIVE_UP_AFTER
        queued_within = (end - HOUR - LONGEST_RETRY_PAUSE, end)
        return self.filter(state=MailState.FAILED, created_at__range=queued_within).count()

    def prune_expired(self) -> int:
        """Delete old mails; returns their number:

        - mails that were dropped, a day after they were queued: strangers can request many;
        - mails that ended in another state, RETENTION after they were queued.

        Also makes waiting mails due at once that are due in over a day: a host's clock was wrong.
        """
        now = timezone.now()
        self.still_waiting().filter(due_at__gt=now + DAY).update(due_at=now)
        dropped = Q(state=MailState.DROPPED, created_at__lte=now - DAY)
        ended = Q(state__in=FINAL_STATES, created_at__lte=now - RETENTION)
        return delete_in_batches(self.filter(dropped | ended))


class OutgoingMail(models.Model):
    """A mail and its state. Its text is rendered when it is sent."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=60)  # the label of the link's model, or notice.<mail_name>
    link_id = models.UUIDField(null=True, editable=False)
    email = CanonicalEmailField("e-mail address")
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, default="en")
    state = models.CharField(max_length=10, choices=states, default=MailState.REQUESTED)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    due_at = models.DateTimeField(default=timezone.now, editable=False)
    sent_at = models.DateTimeField(null=True, editable=False)
    attempts = models.PositiveIntegerField(default=0, editable=False)
    counted_at = models.DateTimeField(null=True, editable=False)  # when it counted in its budget
    problem = models.CharField(max_length=200, blank=True, editable=False)
    # The key of `budget`, for a request of a link that anyone may get.
    budget_key = models.CharField(max_length=64, db_default="", editable=False)
    origin = models.JSONField(default=dict, editable=False)  # the Caller; {} for an existing link
    # For the template of a notice, or for the `for_mail` of a request.
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
        """The kind for people, such as "invitation" or "password changed"; for a link of another
        release `kind` itself."""
        if self.kind.startswith(NOTICE_PREFIX):
            return self.kind.removeprefix(NOTICE_PREFIX).replace("_", " ")
        try:
            return str(self.link_model._meta.verbose_name)
        except UnknownKind:
            return self.kind

    @property
    def is_put_off(self) -> bool:
        """Whether the mail waits for another attempt, or for its budget; `problem` says why."""
        return self.state in WAITING_STATES and bool(self.problem)

    @property
    def link_model(self) -> type[EmailedLink]:
        """The model of the mail's link. Raises UnknownKind for a notice, and for a link of another
        release, which is tried again later: a worker of that release can send it in an upgrade."""
        try:
            return EmailedLink.models_by_label()[self.kind]
        except KeyError:
            raise UnknownKind(self.kind) from None

    def find_content(self) -> EmailedLink | Notice | None:
        """The mail's notice or link; None for a request that has no link yet, or if the link is
        deleted. Raises UnknownKind for a link of another release."""
        if self.kind.startswith(NOTICE_PREFIX):
            name = self.kind.removeprefix(NOTICE_PREFIX)
            return Notice(name, self.email, self.language, self.context or {})
        if self.link_id is None:
            return None
        return self.link_model._default_manager.filter(pk=self.link_id).first()

    def lease(self) -> bool:
        """Take the mail for MAIL_LEASE, after which it is due again. Returns False if another
        worker has taken it since it was loaded, or if an erasure has deleted it."""
        unleased = OutgoingMail.objects.filter(pk=self.pk, state=self.state, due_at=self.due_at)
        self.due_at = timezone.now() + MAIL_LEASE
        return bool(unleased.update(due_at=self.due_at))

    @property
    def budget(self) -> Budget:
        """The mailbox's budget in which this mail of a link counts. With a single one, strangers'
        requests could delay every link. Raises UnknownKind for a request of another release."""
        # A link that exists was sent by a user. A request by a user has a context.
        if not self.origin or self.context is not None:
            return Budget.links_by_users(self.email)
        if self.link_model.only_for_registered:
            return Budget.links_for_user(self.email)
        return Budget.links_by_strangers(self.email)

    def try_again(self, actor: Actor) -> None:
        """Make the mail due now, also a refused or given-up one, and record that. The mail must be
        a notice or have a link; the caller has locked its row, and checked that the actor is
        support staff. Raises Django's PermissionDenied if the recipient or the mail's link is
        protected and the actor no superuser, and UnknownKind for a link of another release."""
        actor.require_can_manage_email(self.email)
        actor.require_can_manage(self.find_content())
        row = OutgoingMail.objects.filter(pk=self.pk)
        row.update(state=MailState.READY, due_at=timezone.now())
        audit.record(Kind.MAIL_RETRIED, actor=actor, subject=self.email)
