"""`manage.py status`: the state of the service, from the sources of `/health`, `/metrics` and
`check --deploy`."""

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Literal

from django.conf import settings
from django.core import checks
from django.core.management.base import BaseCommand
from django.db import Error, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from accounts.models import User
from keys.cache import signing_keys
from mail.outbox import MAIL_STUCK_AFTER, OutgoingMail
from throttling.limiter import limiter
from worker import jobs
from worker.models import ROUND, WORKER_SILENT_AFTER, Heartbeat

PartState = Literal["ok", "degraded", "down"]
PartReport = tuple[PartState, str]  # state and text of one part of the service
MAX_CLOCK_DIFFERENCE = 5  # seconds between this host's clock and the database's
# Database sessions for which others have waited a second, or that lock a whole table. Only members
# of pg_read_all_stats see times and queries of other roles.
SELECT_BLOCKERS = r"""
    SELECT format('pid %s, user %s, since %s: %s', pid, usename, xact_start::timestamptz(0),
        left(regexp_replace(query, '\s+', ' ', 'g'), 100))
    FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND pid IN (
        SELECT unnest(pg_blocking_pids(pid)) FROM pg_locks WHERE waitstart < now() - interval '1 s'
        UNION SELECT pid FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock'
            AND relation IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
    ) ORDER BY xact_start
"""
EXIT_CODES: dict[PartState, int] = {"ok": 0, "degraded": 1, "down": 2}


class Command(BaseCommand):
    help = (
        "Show the version, and the state of the database, this host's clock, Redis, keys, mail, "
        "the worker and its jobs, migrations and settings. Exits with 0 if all is well, 1 if a "
        "part is degraded, 2 if one is down."
    )
    requires_system_checks = []  # `check_settings` reports them

    def handle(self, *args: object, **options: object) -> None:
        """Print a line for each part, and exit with the code of the worst: 0 if all are "ok", 1 for
        "degraded", 2 for "down"."""
        # The command's own connection gets the timeouts of those for requests.
        if options_of_requests := settings.DATABASE_OF_REQUESTS.get("OPTIONS"):
            connection.settings_dict["OPTIONS"] = options_of_requests | {"pool": False}
        reports = examine_all()
        lines = [f"{part:11} {state:9} {text}" for part, (state, text) in reports.items()]
        self.stdout.write("\n".join(lines))
        sys.exit(max(EXIT_CODES[state] for state, _ in reports.values()))


def examine_all() -> dict[str, PartReport]:
    """The state and text of each part, by its name, in the order in which to check them at an
    incident. A part whose check raises an error is "down"."""
    parts: dict[str, Callable[[], PartReport]] = {
        "version": lambda: ("ok", f"{settings.VERSION}, commit {settings.COMMIT}"),
        "database": check_database,
        "clock": check_clock,
        "migrations": check_migrations,
        "store": check_limiter_store,
        "keys": check_keys,
        "mail": check_mail_queue,
        "worker": check_worker,
        "jobs": check_jobs,
        "settings": check_settings,
    }
    return {part: examine_part(check) for part, check in parts.items()}


def examine_part(check: Callable[[], PartReport]) -> PartReport:
    """The report of a check; "down" if it raises any error: the other parts are shown, too."""
    try:
        return check()
    except Error as error:
        return "down", next(iter(str(error).strip().splitlines()), type(error).__name__)
    except Exception as error:  # a fault of the check itself, whose text may be anything
        return "down", type(error).__name__


def check_database() -> PartReport:
    """Down if users cannot be read. Degraded if a database session has kept others waiting for a
    second, or locks a whole table. Raises a database Error without a connection, and if PostgreSQL
    is read-only (a standby, or a full disk)."""
    blockers = ""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("CREATE TEMPORARY TABLE trial ON COMMIT DROP AS SELECT 1 AS one")
            cursor.execute(SELECT_BLOCKERS)
            blockers = "; ".join(text for (text,) in cursor.fetchall())
    try:
        User.objects.require_readable()
    except Error as error:
        return "down", f"blocked by {blockers}" if blockers else str(error).partition("\n")[0]
    return ("degraded", f"blocked by {blockers}") if blockers else ("ok", "accepts writes")


def check_clock() -> PartReport:
    """Degraded if this host's clock differs from the database's by over MAX_CLOCK_DIFFERENCE."""
    signing_keys.refresh()  # compares the clocks; raises a database Error
    seconds = signing_keys.seconds_ahead
    text = f"{abs(seconds):.1f} s {'behind' if seconds < 0 else 'ahead of'} the database's"
    return ("degraded" if abs(seconds) > MAX_CLOCK_DIFFERENCE else "ok"), text


def check_migrations() -> PartReport:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    names = ", ".join(str(migration) for migration, _ in plan)
    return ("down", f"not applied: {names}") if plan else ("ok", "all applied")


def check_limiter_store() -> PartReport:
    if not settings.REDIS_URL:
        return "ok", "no Redis: each process counts on its own"
    if limiter.redis_state() == "ok":
        return "ok", "counts in Redis"
    return "degraded", f"Redis does not count: {limiter.outage_reason}"


def check_keys() -> PartReport:
    """Down without a key that signs, degraded if one of the others can't be decrypted."""
    signing_keys.refresh()
    text = ", ".join(f"{key} {key.state}" for key in signing_keys.keys.values())
    if signing_keys.signer is None:
        return "down", text or "no key"
    return ("degraded" if signing_keys.unreadable_kids() else "ok"), text


def check_mail_queue() -> PartReport:
    mails = OutgoingMail.objects.measure_queue()
    longest = f"{mails.longest.total_seconds():.0f} s"
    text = f"{mails.due} waiting" + (f", the oldest for {longest}" if mails.due else "")
    text += f", {mails.put_off} postponed" if mails.put_off else ""
    return ("degraded" if mails.longest > MAIL_STUCK_AFTER else "ok"), text


def check_worker() -> PartReport:
    """Degraded if no worker has ever run, or the last round is over WORKER_SILENT_AFTER away."""
    age = Heartbeat.objects.time_since(ROUND)
    if age == timedelta.max:
        return "degraded", "has never run"
    text = f"last round {age.total_seconds():.0f} s ago"
    return ("degraded" if abs(age) > WORKER_SILENT_AFTER else "ok"), text


def check_jobs() -> PartReport:
    """Degraded if a job that ran before is overdue by over WORKER_SILENT_AFTER; one that never ran
    is no fault."""
    state: PartState = "ok"
    ages = []
    for job in jobs.jobs_by_name.values():
        age = Heartbeat.objects.time_since(job.name)
        if age == timedelta.max:
            ages.append(f"{job.name} never")
            continue
        ages.append(f"{job.name} {age.total_seconds():.0f} s ago")
        if age > job.every + WORKER_SILENT_AFTER:
            state = "degraded"
    return state, f"last run: {', '.join(ages)}"


def check_settings() -> PartReport:
    messages = checks.run_checks(include_deployment_checks=True)
    ids = [str(message.id) for message in messages if not message.is_silenced()]
    text = f"check --deploy warns: {', '.join(ids)}" if ids else "check --deploy is clean"
    return ("degraded" if ids else "ok"), text
