"""The index's charts: what they count, in how many queries, and how far back."""

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


def happen(kind, *ages):
    AuditEvent.objects.bulk_create(AuditEvent(kind=kind, at=NOW - age) for age in ages)


def test_chart_has_a_bar_for_each_hour(django_assert_num_queries):
    minute = timedelta(minutes=1)
    happen(Kind.LOGIN_FAILED, 0 * minute, 29 * minute, 31 * minute, 23 * HOUR, 24 * HOUR)
    happen(Kind.LOGIN_SUCCEEDED, minute)
    with django_assert_num_queries(2):
        found = bar_chart(Kind.LOGIN_FAILED, "Failures", "hour", 24)

    assert [label for height, label in found["bars"] if height] == [
        "15:00: 1",
        "13:00: 1",
        "14:00: 2",
    ]
    assert [height for height, _ in found["bars"][-2:]] == [24, 48]
    assert found["summary"] == "Failures: 4, most at 14:00 with 2"


def test_empty_chart_has_no_bars():
    found = bar_chart(Kind.LOGIN_FAILED, "Failures", "hour", 24)

    assert {height for height, _ in found["bars"]} == {0}
    assert found["summary"] == "Failures: 0"


def test_no_more_than_the_newest_are_counted(monkeypatch):
    monkeypatch.setattr(charts, "MAX_CHART_EVENTS", 3)
    happen(Kind.LOGIN_FAILED, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR)
    found = bar_chart(Kind.LOGIN_FAILED, "Failures", "hour", 24)

    assert found["summary"].startswith("Failures: 3,")
    assert found["since"] == NOW - 4 * HOUR


def test_index_shows_them_in_few_queries(operator, django_assert_num_queries):
    happen(Kind.LOGIN_FAILED, HOUR)
    with django_assert_num_queries(14):
        shown = operator.get("/admin/").content.decode()

    assert shown.count('<svg class="chart"') == 3
    assert 'aria-label="Failed attempts in 24 hours: 1, most at 13:00 with 1"' in shown
    assert 'style="' not in shown
