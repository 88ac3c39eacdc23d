"""Bar charts of the audit log: events of a kind by the hour or by the day."""

from datetime import timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import Trunc
from django.utils import timezone

from audit.models import AuditEvent, Kind

MAX_CHART_EVENTS = 50_000  # the newest of a kind, which are counted
BAR_HEIGHT = 48  # of the highest bar, in units of the SVG
TIME_FORMATS = {"hour": "%H:00", "day": "%Y-%m-%d"}


def bar_chart(kind: Kind, name: str, unit: str, slots: int) -> dict[str, Any]:
    """The chart of a kind's events in the last `slots` hours or days in UTC (`unit` is "hour" or
    "day"), of which the current one is the last. `name` says what the events are.

    `bars` has each slot's height and label, oldest first. `peak` is the highest count, as text.
    `axis` has the labels of four evenly spaced slots, `summary` a phrase. Of more than
    MAX_CHART_EVENTS events, those after `since` are counted; else `since` is None.
    """
    step, time_format = timedelta(**{f"{unit}s": 1}), TIME_FORMATS[unit]
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    now = now.replace(hour=0) if unit == "day" else now
    begin = now - (slots - 1) * step
    events = AuditEvent.objects.filter(kind=kind, at__gte=begin)
    times = events.order_by("-at").values_list("at", flat=True)
    since = times[MAX_CHART_EVENTS : MAX_CHART_EVENTS + 1].first()
    counted_events = events.filter(at__gt=since) if since else events
    by_slot = counted_events.order_by().annotate(slot=Trunc("at", unit)).values_list("slot")
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
