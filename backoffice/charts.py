"""Small bar charts of the audit log: how often something happened, by the hour or by the day."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import TruncDay, TruncHour
from django.utils import timezone

from audit.counting import grouped
from audit.models import Kind, Record

MOST = 50_000  # events of a kind that are counted, the newest
WIDE, HIGH = 10, 48  # of a slot, and of the highest bar, in the picture's own units
STEPS: dict[timedelta, tuple[Any, str]] = {
    timedelta(hours=1): (TruncHour, "%H:00"),
    timedelta(days=1): (TruncDay, "%Y-%m-%d"),
}


@dataclass(frozen=True)
class Bar:
    x: int
    height: int
    label: str

    @property
    def top(self) -> int:
        return HIGH + 1 - self.height


@dataclass(frozen=True)
class Chart:
    """`summary` is the chart in words; `since` is set where counting starts later than the bars."""

    bars: list[Bar]
    width: int
    most: str
    axis: list[str]  # the labels of four slots, evenly apart
    summary: str
    since: datetime | None


def chart(kind: Kind, name: str, step: timedelta, slots: int) -> Chart:
    """The kind's events of the last hours or days, the present one included: two queries, which
    read MOST events at most."""
    truncate, style = STEPS[step]
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    now = now if step < timedelta(days=1) else now.replace(hour=0)
    begin = now - (slots - 1) * step
    records = Record.objects.filter(kind=kind, at__gte=begin)
    since = records.order_by("-at").values_list("at", flat=True)[MOST : MOST + 1].first()
    newest = records.filter(at__gt=since) if since else records
    found = newest.order_by().annotate(slot=truncate("at")).values_list("slot")
    counts = dict(found.annotate(number=Count("pk")))
    at = [begin + number * step for number in range(slots)]
    return make_chart(name, [(f"{moment:{style}}", counts.get(moment, 0)) for moment in at], since)


def make_chart(name: str, counts: list[tuple[str, int]], since: datetime | None) -> Chart:
    """The highest bar is HIGH; no bar above zero is lower than 2."""
    most = max(count for _, count in counts)
    bars = []
    for number, (when, count) in enumerate(counts):
        height = max(2, round(count * HIGH / most)) if count else 0
        bars.append(Bar(number * WIDE, height, f"{when}: {grouped(count)}"))
    summary = f"{name}: {grouped(sum(count for _, count in counts))}"
    if most:
        peak = max(counts, key=lambda one: one[1])[0]
        summary += f", most at {peak} with {grouped(most)}"
    last = len(counts) - 1
    axis = [counts[last * quarter // 3][0] for quarter in range(4)]
    return Chart(bars, len(counts) * WIDE, grouped(most), axis, summary, since)
