"""Small charts of the audit trail: how often something happened, by the hour or by the day."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count
from django.db.models.functions import TruncDay, TruncHour
from django.utils import timezone
from django.utils.translation import gettext

from audit.counting import grouped
from audit.models import Kind, Record

MOST = 50_000  # records of a kind that are counted, the newest
WIDE, HIGH = 10, 60  # of a slot, and of the highest bar, in the picture's own units
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
    """`said` is the chart in words; `since` is from when on it is counted, where that is later
    than the chart begins."""

    bars: list[Bar]
    width: int
    said: str
    since: datetime | None


def chart(kind: Kind, name: str, step: timedelta, slots: int) -> Chart:
    """The kind's records of so many hours or days, the present one included, in two queries, which
    read MOST of them at most."""
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
    return drawn(name, [(f"{moment:{style}}", counts.get(moment, 0)) for moment in at], since)


def drawn(name: str, counts: list[tuple[str, int]], since: datetime | None) -> Chart:
    """The bars, the highest of them HIGH; none that is more than nothing is lower than 2."""
    most = max(count for _, count in counts)
    bars = [
        Bar(
            number * WIDE,
            max(2, round(count * HIGH / most)) if count else 0,
            f"{when}: {grouped(count)}",
        )
        for number, (when, count) in enumerate(counts)
    ]
    total, peak = sum(count for _, count in counts), max(counts, key=lambda one: one[1])[0]
    said = f"{name}: {grouped(total)}"
    if most:
        facts = {"said": said, "peak": peak, "most": grouped(most)}
        said = gettext("%(said)s, most at %(peak)s with %(most)s") % facts
    return Chart(bars, len(counts) * WIDE, said, since)
