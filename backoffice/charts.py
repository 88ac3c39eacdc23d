"""Small bar charts of the audit log: how often something happened, by the hour or by the day."""

from datetime import timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import Trunc
from django.utils import timezone

from audit.models import AuditEvent, Kind

MOST = 50_000  # events of a kind that are counted, the newest
HIGH = 48  # of the highest bar, in the picture's own units
LABELS = {"hour": "%H:00", "day": "%Y-%m-%d"}


def bar_chart(kind: Kind, name: str, unit: str, slots: int) -> dict[str, Any]:
    """The kind's events in the last hours or days, up to now.

    `bars` are heights and labels; a count above zero is at least 2 high. `axis` has the labels of
    four evenly spaced slots; `summary` is the chart in words. The two queries read MOST events at
    most: if there are more, `since` is the time from which they were counted.
    """
    step, style = timedelta(**{f"{unit}s": 1}), LABELS[unit]
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    now = now.replace(hour=0) if unit == "day" else now
    begin = now - (slots - 1) * step
    events = AuditEvent.objects.filter(kind=kind, at__gte=begin)
    since = events.order_by("-at").values_list("at", flat=True)[MOST : MOST + 1].first()
    newest = events.filter(at__gt=since) if since else events
    found = newest.order_by().annotate(slot=Trunc("at", unit)).values_list("slot")
    numbers = dict(found.annotate(number=Count("pk")))
    at = [begin + number * step for number in range(slots)]
    counts = [(f"{moment:{style}}", numbers.get(moment, 0)) for moment in at]
    peak, most = max(counts, key=lambda one: one[1])
    bars = [
        (max(2, round(count * HIGH / most)) if count else 0, f"{when}: {count:,}")
        for when, count in counts
    ]
    summary = f"{name}: {sum(count for _, count in counts):,}"
    summary += f", most at {peak} with {most:,}" if most else ""
    axis = [counts[(slots - 1) * quarter // 3][0] for quarter in range(4)]
    return {"bars": bars, "most": f"{most:,}", "axis": axis, "summary": summary, "since": since}
