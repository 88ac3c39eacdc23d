"""The lockout's rule: failures lock an address, exactly at the threshold and for its time."""

import datetime

import pytest
from django.db import connection, transaction

from audit.actors import COMMAND
from audit.models import AuditEvent
from base import batches
from tests.races import race
from tests.throttling.helpers import ADA, fail
from throttling.errors import TooManyAttempts
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def time(time_machine):
    time_machine.move_to(START, tick=False)
    return time_machine


def refuse(times):
    for _ in range(times):
        with pytest.raises(TooManyAttempts):
            Lockout.objects.refuse(ADA)


def test_failures_are_forgotten_after_a_day_without_another(time):
    fail(4)
    time.shift(24 * 3600)
    fail(4)

    assert not Lockout.objects.is_locked(ADA)


def test_failures_within_a_day_add_up(time):
    for _ in range(5):
        fail(1)
        time.shift(23 * 3600)

    assert Lockout.objects.get().failures == 5


def overtaken_by(event):
    """Call `event` just after the next query, before its result is used."""
    events = [event]

    def execute_and_overtake(execute, *query):
        rows = execute(*query)
        if events:
            events.pop()()
        return rows

    return connection.execute_wrapper(execute_and_overtake)


def test_success_just_after_a_lock_is_refused():
    fail(4)
    with overtaken_by(lambda: fail(1)), pytest.raises(TooManyAttempts):
        Lockout.objects.clear_or_refuse(ADA)

    assert Lockout.objects.is_locked(ADA)


def test_success_just_after_another_success_succeeds():
    fail(4)
    with overtaken_by(lambda: Lockout.objects.unlock(ADA, COMMAND)):
        Lockout.objects.clear_or_refuse(ADA)

    assert not Lockout.objects.exists()


def test_prune_deletes_only_old_records_without_a_lock(time, settings, monkeypatch):
    monkeypatch.setattr(batches, "BATCH_ROWS", 3)
    settings.LOCKOUT_SECONDS = 3 * 24 * 3600
    fail(5, "locked@example.com")
    for number in range(7):
        fail(1, f"old-{number}@example.com")
    time.shift(24 * 3600)
    fail(1, "new@example.com")

    assert Lockout.objects.prune_expired() == 7
    kept_emails = Lockout.objects.order_by("email").values_list("email", flat=True)
    assert list(kept_emails) == ["locked@example.com", "new@example.com"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("earlier", [0, 3])
def test_parallel_guesses_are_counted_one_by_one(earlier):
    fail(earlier)

    outcomes = race(*[lambda: Lockout.objects.record_failure(ADA)] * 50)

    assert sum(outcomes) == 5 - earlier
    assert Lockout.objects.is_locked(ADA)


@pytest.mark.django_db(transaction=True)
def test_transactions_are_read_committed_whatever_the_role_says():
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_isolation TO serializable")
        with transaction.atomic():
            cursor.execute("SHOW transaction_isolation")
            assert cursor.fetchone() == ("read committed",)
    connection.close()


@pytest.mark.django_db(transaction=True)
def test_parallel_successes_all_succeed():
    fail(4)

    race(*[lambda: Lockout.objects.clear_or_refuse(ADA)] * 24)

    assert not Lockout.objects.exists()


def test_refusals_of_a_lock_are_recorded_once_and_counted(time):
    fail(5)
    refuse(30)
    time.shift(900)
    assert not Lockout.objects.locked().exists()
    fail(5)
    refuse(3)

    assert Lockout.objects.locked().exists()
    assert Lockout.objects.get().refusals == 33
    kinds = ["lock.set", "login.locked"] * 2
    records = AuditEvent.objects.order_by("id")
    assert [(record.kind, record.subject) for record in records] == [(kind, ADA) for kind in kinds]
    assert [record.detail for record in records] == [
        {"refusals_so_far": 0}, {}, {"refusals_so_far": 30}, {}
    ]  # fmt: skip


def test_number_of_refusals_is_recorded_when_the_lock_is_cleared():
    fail(5)
    refuse(3)
    Lockout.objects.unlock(ADA, COMMAND)

    assert AuditEvent.objects.get(kind="lock.cleared").detail == {"refusals": 3}


def test_refusal_without_a_lock_is_not_counted(time):
    fail(5)
    time.shift(900)
    refuse(1)

    assert Lockout.objects.get().refusals == 0


@pytest.mark.django_db(transaction=True)
def test_parallel_refusals_are_recorded_once_and_counted_exactly():
    fail(5)

    race(*[lambda: refuse(1)] * 10)

    assert Lockout.objects.get().refusals == 10
    assert AuditEvent.objects.filter(kind="login.locked").count() == 1
