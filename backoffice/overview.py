"""The index of the back office: what needs a hand now, and one search over people and companies.

Each part is shown to those who may see its table, and reads a bounded number of rows.
"""

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import Account, User
from accounts.search import cut
from audit.models import Kind, Record
from mail.outbox import STUCK_AFTER, OutgoingMail, State
from throttling.models import Lockout

SHOWN = 10  # rows of each list
MOST_ROWS_READ = 1000  # more than that is said as "1000 or more"

OPERATORS_ACTS = [
    Kind.COMPANY_CREATED,
    Kind.LOCK_CLEARED,
    Kind.LIMITS_CLEARED,
    Kind.KEY_PUBLISHED,
    Kind.KEY_REMOVED,
    Kind.MAIL_RETRIED,
    Kind.ADMIN_ADDED,
    Kind.ADMIN_CHANGED,
    Kind.ADMIN_DELETED,
    Kind.EXPORTED,
]


def overview(request: HttpRequest) -> dict[str, Any]:
    """`locks`, `mails`, `failures` and `acts`, as far as the caller may see them."""
    user: Any = request.user
    parts: dict[str, Any] = {}
    if user.has_perm("throttling.view_lockout"):
        parts["locks"] = Lockout.objects.locked().order_by("-locked_until")[:SHOWN]
        parts["locks_count"] = bounded_count(Lockout.objects.locked())
    if user.has_perm("mail.view_outgoingmail"):
        parts["mails"] = troubled_mails()
    if user.has_perm("audit.view_record"):
        parts["failures"] = failures_of_the_hour()
        parts["acts"] = Record.objects.filter(kind__in=OPERATORS_ACTS)[:SHOWN]
    return parts


def bounded_count(rows: Any) -> int:
    return int(rows.order_by()[:MOST_ROWS_READ].count())


def troubled_mails() -> dict[str, int]:
    """How many mails are `stuck` (due for over five minutes), or were `failed` or `refused` this
    week."""
    now = timezone.now()
    recent = OutgoingMail.objects.filter(created_at__gt=now - timedelta(days=7))
    return {
        "stuck": bounded_count(OutgoingMail.objects.due(now - STUCK_AFTER)),
        "failed": bounded_count(recent.filter(state=State.FAILED)),
        "refused": bounded_count(recent.filter(state=State.REFUSED)),
    }


def failures_of_the_hour() -> dict[str, int]:
    """`count`, `emails` and `addresses` of the last failures to sign in of one hour.

    Many addresses tried from many places, each too seldom for a lock or a limit, are seen here.
    """
    then = timezone.now() - timedelta(hours=1)
    failures = Record.objects.filter(kind=Kind.LOGIN_FAILED, at__gt=then)
    rows = list(failures.order_by("-at").values_list("subject", "address")[:MOST_ROWS_READ])
    return {
        "count": len(rows),
        "emails": len({subject for subject, _ in rows}),
        "addresses": len({address for _, address in rows}),
    }


def found(request: HttpRequest) -> dict[str, Any]:
    """`people` and `companies` that the query's `q` finds, with `q` itself; nothing without it."""
    text = cut(request.GET.get("q", ""))
    user: Any = request.user
    parts: dict[str, Any] = {"q": text}
    if not text or isinstance(user, AnonymousUser):
        return parts
    if user.has_perm("accounts.view_user"):
        people = User.objects.select_related("account").search(text)
        parts["people"] = people.order_by("email")[:SHOWN]
    if user.has_perm("accounts.view_account"):
        parts["companies"] = Account.objects.filter(name__icontains=text)[:SHOWN]
    return parts
