"""`manage.py status`: the state of the service, from the sources of `/health`, `/metrics` and
`check --deploy`. Each part is examined on its own, so that a failing one does not hide others."""

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

State = Literal["ok", "degraded", "down"]
Finding = tuple[State, str]  # about one part of the service, in words
MOST_SECONDS_APART = 5  # of this host's clock and the database's; NTP keeps to hundredths
# Sessions that others have waited for a second for, or that hold a whole table. Other roles' times
# and queries are shown to members of pg_read_all_stats.
BLOCKERS = r"""
    SELECT format('pid %s, user %s, since %s: %s', pid, usename, xact_start::timestamptz(0),
        left(regexp_replace(query, '\s+', ' ', 'g'), 100))
    FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND pid IN (
        SELECT unnest(pg_blocking_pids(pid)) FROM pg_locks WHERE waitstart < now() - interval '1 s'
        UNION SELECT pid FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock'
            AND relation IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
    ) ORDER BY xact_start
"""
EXITS: dict[State, int] = {"ok": 0, "degraded": 1, "down": 2}


class Command(BaseCommand):
    help = (
        "Show the state of the database, this host's clock, Redis, keys, mail, the worker "
        "and its jobs, migrations and settings. Exits with 0 if all is well, 1 if a part is "
        "degraded, 2 if one is down."
    )
    requires_system_checks = []  # it reports them

    def handle(self, *args: object, **options: object) -> None:
        if of_requests := settings.DATABASE_OF_REQUESTS.get("OPTIONS"):  # with their timeouts
            connection.settings_dict["OPTIONS"] = of_requests | {"pool": False}
        found = examine_all()
        lines = [f"{part:11} {state:9} {words}" for part, (state, words) in found.items()]
        self.stdout.write("\n".join(lines))
        sys.exit(max(EXITS[state] for state, _ in found.values()))


def examine_all() -> dict[str, Finding]:
    """All parts, in the order in which to check them during an incident."""
    parts: dict[str, Callable[[], Finding]] = {
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


def examine_part(check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except Error as error:
        return "down", next(iter(str(error).strip().splitlines()), type(error).__name__)


def check_database() -> Finding:
    """Down also if it is read-only (a standby, or a full disk), or if users cannot be read."""
    blockers = ""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("CREATE TEMPORARY TABLE trial ON COMMIT DROP AS SELECT 1 AS one")
            cursor.execute(BLOCKERS)
            blockers = "; ".join(words for (words,) in cursor.fetchall())
    try:
        User.objects.read_one()
    except Error as error:
        return "down", f"blocked by {blockers}" if blockers else str(error).partition("\n")[0]
    return ("degraded", f"blocked by {blockers}") if blockers else ("ok", "accepts writes")


def check_clock() -> Finding:
    signing_keys.refresh()
    seconds = signing_keys.seconds_ahead
    words = f"{abs(seconds):.1f} s {'behind' if seconds < 0 else 'ahead of'} the database's"
    return ("degraded" if abs(seconds) > MOST_SECONDS_APART else "ok"), words


def check_migrations() -> Finding:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    names = ", ".join(str(migration) for migration, _ in plan)
    return ("down", f"not applied: {names}") if plan else ("ok", "all applied")


def check_limiter_store() -> Finding:
    if not settings.REDIS_URL:
        return "ok", "no Redis: each process counts on its own"
    if limiter.store_state() == "ok":
        return "ok", "counts in Redis"
    return "degraded", f"Redis does not count: {limiter.problem}"


def check_keys() -> Finding:
    signing_keys.refresh()
    words = ", ".join(f"{key} {key.state}" for key in signing_keys.keys.values())
    if signing_keys.signer is None:
        return "down", words or "no key"
    return ("degraded" if signing_keys.unreadable_kids() else "ok"), words


def check_mail_queue() -> Finding:
    mails = OutgoingMail.objects.measure_queue()
    longest = f"{mails.longest.total_seconds():.0f} s"
    words = f"{mails.due} waiting" + (f", the oldest for {longest}" if mails.due else "")
    words += f", {mails.put_off} postponed" if mails.put_off else ""
    return ("degraded" if mails.longest > MAIL_STUCK_AFTER else "ok"), words


def check_worker() -> Finding:
    last = Heartbeat.objects.time_since(ROUND)
    if last == timedelta.max:
        return "degraded", "has never run"
    words = f"last round {last.total_seconds():.0f} s ago"
    return ("degraded" if abs(last) > WORKER_SILENT_AFTER else "ok"), words


def check_jobs() -> Finding:
    """Degraded if a job that ran before is overdue: the worker's log has the error."""
    state: State = "ok"
    ages = []
    for job in jobs.jobs_by_name.values():
        last = Heartbeat.objects.time_since(job.name)
        if last == timedelta.max:
            ages.append(f"{job.name} never")
            continue
        ages.append(f"{job.name} {last.total_seconds():.0f} s ago")
        if last > job.every + WORKER_SILENT_AFTER:
            state = "degraded"
    return state, f"last run: {', '.join(ages)}"


def check_settings() -> Finding:
    messages = checks.run_checks(include_deployment_checks=True)
    amiss = [str(found.id) for found in messages if not found.is_silenced()]
    words = f"check --deploy warns: {', '.join(amiss)}" if amiss else "check --deploy is clean"
    return ("degraded" if amiss else "ok"), words
