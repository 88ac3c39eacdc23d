"""`manage.py status`: the state of each part, and the exit status, also while parts are down."""

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from backoffice.management.commands import status
from keys.models import SigningKey
from mail.outbox import OutgoingMail
from tests import servers
from tests.services import query
from tests.throttling.conftest import use_store
from worker.models import Heartbeat

pytestmark = [pytest.mark.django_db, pytest.mark.live]


def run_command(**environment):
    command = [sys.executable, "manage.py", "status"]
    variables = os.environ | environment
    process = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    return process.returncode, {line.split()[0]: line for line in process.stdout.splitlines()}


def examine(part):
    return status.examine_all()[part]


def states():
    return {part: state for part, (state, _) in status.examine_all().items()}


def test_status_is_ok(settings):
    SigningKey.objects.make_first()
    Heartbeat.objects.record_done("round")
    part_states = states()

    # The tests' settings are not fit for production, and their role owns the tables.
    assert part_states.pop("settings") == "degraded"
    assert set(part_states.values()) == {"ok"}


def test_waiting_mail_is_shown(time_machine):
    time_machine.move_to("2026-11-21T12:00:00Z", tick=False)
    OutgoingMail.objects.create(kind="signin.signuplink", email="new@example.com")
    time_machine.shift(301)

    assert examine("mail") == ("degraded", "1 waiting, the oldest for 301 s")


@pytest.mark.parametrize(
    ("shift", "state", "side"),
    [(40, "degraded", "ahead of"), (-3600, "degraded", "behind"), (3, "ok", "ahead of")],
)
def test_clock_is_compared_with_the_databases(time_machine, shift, state, side):
    SigningKey.objects.make_first()
    time_machine.move_to(time.time() + shift)
    clock_state, text = examine("clock")
    seconds, difference = text.split(" s ", 1)

    assert (clock_state, difference) == (state, f"{side} the database's")
    assert abs(float(seconds) - abs(shift)) < 1


def test_postponed_mails_are_shown():
    later = timezone.now() + timedelta(hours=1)
    OutgoingMail.objects.create(kind="signin.signuplink", email="new@example.com", due_at=later)

    assert examine("mail") == ("ok", "0 waiting, 1 postponed")


def test_silent_worker_is_degraded(time_machine):
    time_machine.move_to("2026-11-21T12:00:00Z", tick=False)
    assert states()["worker"] == "degraded"
    Heartbeat.objects.record_done("round")
    assert states()["worker"] == "ok"
    time_machine.shift(601)
    assert states()["worker"] == "degraded"


def test_unavailable_redis_is_degraded(settings):
    settings.REDIS_URL = f"redis://127.0.0.1:{servers.free_port()}/0"
    settings.CACHES = {"default": settings.CACHES["default"] | {"LOCATION": settings.REDIS_URL}}

    assert states()["store"] == "degraded"


REDIS_FAULTS = {
    "AuthenticationError: Authentication required": lambda server: server.client.config_set(
        "requirepass", "hunter2"
    ),
    "OutOfMemoryError: ": lambda server: server.client.config_set("maxmemory", 1),
    "ReadOnlyError: ": lambda server: server.client.replicaof("127.0.0.1", server.port),
    "TimeoutError: ": lambda server: server.process.send_signal(signal.SIGSTOP),
    "Connection refused": lambda server: server.stop(),
}


@pytest.mark.parametrize("reason", REDIS_FAULTS)
def test_reason_why_redis_does_not_count_is_shown(settings, reason):
    server = servers.RedisServer()
    use_store(settings, server.url)
    try:
        REDIS_FAULTS[reason](server)
        state, text = examine("store")
    finally:
        server.stop()

    assert state == "degraded"
    assert reason in text


LOCK_TABLE = "LOCK TABLE {} IN ACCESS EXCLUSIVE MODE"


@pytest.mark.parametrize(
    ("table", "state"), [("accounts_user", "down"), ("audit_record", "degraded")]
)
def test_session_that_locks_a_table_is_shown(new_database, table, state):
    url = new_database()
    with psycopg.connect(url) as locker:
        locker.execute(LOCK_TABLE.format(table))
        pid = locker.info.backend_pid
        _, reports = run_command(DATABASE_URL=url)

    assert re.search(
        rf"{state} +blocked by pid {pid}, user postgres, since 20[-0-9: +]+: LOCK TABLE {table}",
        reports["database"],
    )


def test_session_that_others_wait_for_is_shown(new_database):
    """A report reads users, a migration waits for that, and all others wait for the migration."""
    url = new_database()
    with (
        psycopg.connect(url) as reader,
        psycopg.connect(url) as owner,
        ThreadPoolExecutor() as executor,
    ):
        reader.execute("SELECT count(*) FROM accounts_user")
        waiting = executor.submit(owner.execute, LOCK_TABLE.format("accounts_user"))
        time.sleep(1.2)
        _, reports = run_command(DATABASE_URL=url)
        pid = reader.info.backend_pid
        reader.rollback()
        waiting.result()
        owner.rollback()

    assert re.search(rf"down +blocked by pid {pid}, user .*: SELECT count", reports["database"])


def test_status_shows_other_parts_while_the_database_is_down():
    url = f"postgres://me:hunter2secret@127.0.0.1:{servers.free_port()}/consulting"
    exit_status, reports = run_command(DATABASE_URL=url)

    assert exit_status == 2
    states = {part: line.split()[1] for part, line in reports.items()}
    assert states["database"] == states["migrations"] == "down"
    assert states["store"] == states["version"] == "ok"
    assert "hunter2secret" not in str(reports)


def test_read_only_database_is_down():
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION fail() RETURNS event_trigger LANGUAGE plpgsql AS"
            " $$BEGIN RAISE disk_full USING MESSAGE = 'could not extend file'; END$$;"
            "CREATE EVENT TRIGGER fail ON ddl_command_start EXECUTE FUNCTION fail()"
        )
    reports = status.examine_all()

    assert reports["database"] == ("down", "could not extend file")
    assert reports["mail"][0] == "ok"


def test_part_whose_check_fails_is_down(monkeypatch):
    """An uncaught error would end the command with 1, for "degraded", and hide the other parts."""

    def fail():
        raise ValueError("hunter2secret")

    monkeypatch.setattr(status, "check_jobs", fail)
    reports = status.examine_all()

    assert reports["jobs"] == ("down", "ValueError")
    assert reports["mail"][0] == "ok"


def test_missing_migration_is_shown(new_database):
    url = new_database()
    query(url, "DELETE FROM django_migrations WHERE app = 'passwords'")
    exit_status, reports = run_command(DATABASE_URL=url)

    assert exit_status == 2
    assert reports["migrations"].endswith(" not applied: passwords.0001_initial")
