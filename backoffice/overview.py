"""The index of the back office: lockouts, mails and failed attempts that need attention.

Each part is for staff who may view its table, and reads a bounded number of rows.
"""

from datetime import timedelta
from typing import Any

from django.db.models import Count
from django.http import HttpRequest
from django.utils import timezone

from audit.models import AuditEvent, Kind
from backoffice.charts import bar_chart
from backoffice.panels import count_as_text
from base.admin import format_count
from mail.outbox import MAIL_STUCK_AFTER, MailState, OutgoingMail
from throttling.models import Lockout

MAX_OVERVIEW_ROWS = 10  # of each list; the template knows the number, too
MAX_COUNTED_FAILURES = 1000  # events of the last hour


def overview_context(request: HttpRequest) -> dict[str, Any]:
    """`locks` (MAX_OVERVIEW_ROWS at most), `locks_count`, `mails`, `failures` and `charts`, without
    those whose table the caller may not view."""
    user: Any = request.user
    context: dict[str, Any] = {}
    if user.has_perm("throttling.view_lockout"):
        context["locks"] = Lockout.objects.locked().order_by("-locked_until")[:MAX_OVERVIEW_ROWS]
        context["locks_count"] = count_as_text(Lockout.objects.locked())
    if user.has_perm("mail.view_outgoingmail"):
        context["mails"] = count_troubled_mails()
    if user.has_perm("audit.view_auditevent"):
        context["failures"] = count_recent_failures()
        context["charts"] = [
            bar_chart(Kind.LOGIN_FAILED, "Failed attempts in 24 hours", "hour", 24),
            bar_chart(Kind.SIGNUP_COMPLETED, "Sign-ups in 30 days", "day", 30),
            bar_chart(Kind.LOGIN_SUCCEEDED, "Sign-ins in 30 days", "day", 30),
        ]
    return context


def count_troubled_mails() -> dict[str, str]:
    """Numbers of mails as text, "over 10,000" at most: `stuck` ones are due for over
    MAIL_STUCK_AFTER; `failed` (given-up) and `refused` ones are of the last seven days."""
    now = timezone.now()
    stuck_mails = OutgoingMail.objects.still_waiting().filter(due_at__lte=now - MAIL_STUCK_AFTER)
    recent_mails = OutgoingMail.objects.filter(created_at__gt=now - timedelta(days=7))
    return {
        "stuck": count_as_text(stuck_mails),
        "failed": count_as_text(recent_mails.filter(state=MailState.FAILED)),
        "refused": count_as_text(recent_mails.filter(state=MailState.REFUSED)),
    }


def count_recent_failures() -> dict[str, Any]:
    """`count`, the number of failed attempts in the last hour, `count_as_text`, and how many
    different `emails` and client `addresses` they had. Many addresses with few attempts each are an
    attack below every lockout and limit. Only the newest MAX_COUNTED_FAILURES + 1 are counted."""
    hour_ago = timezone.now() - timedelta(hours=1)
    failures = AuditEvent.objects.filter(kind=Kind.LOGIN_FAILED, at__gt=hour_ago)
    emails, addresses = Count("subject", distinct=True), Count("address", distinct=True)
    newest_failures = failures[: MAX_COUNTED_FAILURES + 1]
    counts = newest_failures.aggregate(count=Count("pk"), emails=emails, addresses=addresses)
    return counts | {"count_as_text": format_count(counts["count"], MAX_COUNTED_FAILURES)}
