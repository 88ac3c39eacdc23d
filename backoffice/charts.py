"""Small bar charts of the audit log: how often something happened, by the hour or by the day."""

from datetime import timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import Trunc
from django.utils import timezone

from audit.models import AuditEvent, Kind

MAX_CHART_EVENTS = 50_000  # events of a kind that are counted, the newest
BAR_HEIGHT = 48  # of the highest bar, in the picture's own units
TIME_FORMATS = {"hour": "%H:00", "day": "%Y-%m-%d"}


def bar_chart(kind: Kind, name: str, unit: str, slots: int) -> dict[str, Any]:
    """The kind's events in the last hours or days, up to now.

    `bars` are heights and labels; a count above zero is at least 2 high. `axis` has the labels of
    four evenly spaced slots; `summary` is the chart in words. The two queries read MAX_CHART_EVENTS
    events at most: if there are more, `since` is the time from which they were counted.
    """
    step, time_format = timedelta(**{f"{unit}s": 1}), TIME_FORMATS[unit]
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    now = now.replace(hour=0) if unit == "day" else now
    begin = now - (slots - 1) * step
    events = AuditEvent.objects.filter(kind=kind, at__gte=begin)
    times = events.order_by("-at").values_list("at", flat=True)
    since = times[MAX_CHART_EVENTS : MAX_CHART_EVENTS + 1].first()
    newest = events.filter(at__gt=since) if since else events
    by_slot = newest.order_by().annotate(slot=Trunc("at", unit)).values_list("slot")
    slot_counts = dict(by_slot.annotate(number=Count("pk")))
    slot_times = [begin + number * step for number in range(slots)]
    counts = [(f"{time:{time_format}}", slot_counts.get(time, 0)) for time in slot_times]
    peak_label, peak = max(counts, key=lambda slot: slot[1])
    bars = [
        (max(2, round(count * BAR_HEIGHT / peak)) if count else 0, f"{label}: {count:,}")
        for label, count in counts
    ]
    summary = f"{name}: {sum(count for _, count in counts):,}"
    summary += f", most at {peak_label} with {peak:,}" if peak else ""
    axis = [counts[(slots - 1) * quarter // 3][0] for quarter in range(4)]
    return {"bars": bars, "peak": f"{peak:,}", "axis": axis, "summary": summary, "since": since}
