"""Nobody fills the trail: how much a record holds, and how many of them one person brings about."""

import json

import pytest
from django.core.management import call_command
from django.db import transaction

from audit import budget, models, trail
from audit.models import UNCOUNTED, Kind, Record, RecordBudget
from audit.origin import Origin
from tests.conftest import race

pytestmark = pytest.mark.django_db

NOISE = "\0\x1b\u202e" + "x" * 60_000


def change(actor, kind=Kind.PROFILE_CHANGED):
    with transaction.atomic():
        trail.record(kind, actor=actor, subject="somebody@example.com")


@pytest.mark.parametrize("value", [NOISE, [NOISE], {"deep": [NOISE]}, (NOISE,)])
def test_no_text_of_a_record_is_long_or_unprintable(ada, value):
    origin = Origin(agent=NOISE, claims={"client": NOISE})
    trail.record(Kind.PROFILE_CHANGED, actor=ada, subject=NOISE, origin=origin, what=value)

    record = Record.objects.get()
    assert len(json.dumps(record.detail)) < 420
    assert (len(record.subject), len(record.agent)) == (254, 100)


def test_profile_changes_are_recorded_thirty_times_an_hour(as_ada):
    for n in range(35):
        assert as_ada.patch("/auth/me", {"first_name": f"Ada {n}"}).status_code == 200

    details = list(Record.objects.order_by("pk").values_list("detail", flat=True))
    assert details[:30] == [{"fields": ["first_name"]}] * 30
    assert details[30:] == [{"fields": ["first_name"], "more_followed": True}]


def test_operator_sees_that_more_followed(ada, operator, monkeypatch):
    monkeypatch.setitem(models.PER_HOUR, Kind.PROFILE_CHANGED, 1)
    for _ in range(3):
        change(ada)

    page = operator.get("/admin/audit/record/").content.decode()

    assert page.count("profile changed, and more followed within the hour") == 1


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_is_bounded_or_named_as_dear(ada, bob, kind, monkeypatch):
    monkeypatch.setattr(trail, "PER_HOUR_OF_OTHERS", 2)
    monkeypatch.setitem(models.PER_HOUR, Kind.PROFILE_CHANGED, 2)
    for _ in range(5):
        change(ada, kind)
    change(bob, kind)

    assert Record.objects.filter(actor_id=ada.pk).count() == (5 if kind in UNCOUNTED else 3)
    assert Record.objects.get(actor_id=bob.pk).detail == {}


def test_what_is_not_recorded_is_logged(
    ada, monkeypatch, caplog, django_capture_on_commit_callbacks
):
    monkeypatch.setattr(trail, "PER_HOUR_OF_OTHERS", 1)
    with caplog.at_level("INFO", "audit"), django_capture_on_commit_callbacks(execute=True):
        for _ in range(4):
            change(ada, Kind.ROLE_CHANGED)

    assert Record.objects.count() == 2
    assert [line.getMessage() for line in caplog.records].count("event user.role") == 4


def test_next_hour_has_room_again(ada, time_machine):
    time_machine.move_to("2026-11-21 10:00:00+00:00", tick=False)
    for _ in range(33):
        change(ada)
    time_machine.shift(3600)

    change(ada)

    assert Record.objects.count() == 32
    assert Record.objects.filter(detail={"more_followed": True}).count() == 1


def test_what_is_rolled_back_takes_no_room(ada):
    with transaction.atomic():
        change(ada)
        transaction.set_rollback(True)

    assert not RecordBudget.objects.exists()


def test_budgets_are_forgotten(ada, time_machine):
    time_machine.move_to("2026-11-21 10:00:00+00:00", tick=False)
    change(ada)
    time_machine.shift(budget.DAY.total_seconds())

    call_command("prune")

    assert not RecordBudget.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_bound_is_exact_under_races(ada):
    race(*[lambda: change(ada)] * 40)

    details = list(Record.objects.values_list("detail", flat=True))
    assert sorted(map(len, details)) == [0] * 30 + [1]
