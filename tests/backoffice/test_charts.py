"""The charts of the index: their bars, their limits and their queries."""

from datetime import UTC, datetime, timedelta

import pytest

from audit.models import AuditEvent, Kind
from backoffice import charts
from backoffice.charts import bar_chart

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture(autouse=True)
def half_past_two(time_machine):
    time_machine.move_to(NOW, tick=False)


def record_events(kind, *ages):
    AuditEvent.objects.bulk_create(AuditEvent(kind=kind, at=NOW - age) for age in ages)


def test_chart_has_a_bar_for_each_hour(django_assert_num_queries):
    minute = timedelta(minutes=1)
    record_events(Kind.LOGIN_FAILED, 0 * minute, 29 * minute, 31 * minute, 23 * HOUR, 24 * HOUR)
    record_events(Kind.LOGIN_SUCCEEDED, minute)
    with django_assert_num_queries(2):
        chart = bar_chart(Kind.LOGIN_FAILED, "Failures", "hour", 24)

    assert [label for height, label in chart["bars"] if height] == [
        "15:00: 1",
        "13:00: 1",
        "14:00: 2",
    ]
    assert [height for height, _ in chart["bars"][-2:]] == [24, 48]
    assert chart["summary"] == "Failures: 4, most at 14:00 with 2"


def test_empty_chart_has_no_bars():
    chart = bar_chart(Kind.LOGIN_FAILED, "Failures", "hour", 24)

    assert {height for height, _ in chart["bars"]} == {0}
    assert chart["summary"] == "Failures: 0"


def test_chart_counts_the_newest_events_only(monkeypatch):
    monkeypatch.setattr(charts, "MAX_CHART_EVENTS", 3)
    record_events(Kind.LOGIN_FAILED, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR)
    chart = bar_chart(Kind.LOGIN_FAILED, "Failures", "hour", 24)

    assert chart["summary"].startswith("Failures: 3,")
    assert chart["since"] == NOW - 4 * HOUR


def test_index_shows_charts_in_few_queries(operator, django_assert_num_queries):
    record_events(Kind.LOGIN_FAILED, HOUR)
    with django_assert_num_queries(14):
        page = operator.get("/admin/").content.decode()

    assert page.count('<svg class="chart"') == 3
    assert 'aria-label="Failed attempts in 24 hours: 1, most at 13:00 with 1"' in page
    assert 'style="' not in page
