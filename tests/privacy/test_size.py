"""Erasure and export at size: 200,000 events, by index, in batches, whatever is killed."""

import json
import signal
import tracemalloc

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from privacy.export import MAX_EXPORTED_EVENTS, export_user
from privacy.models import Erasure
from tests.clients import bearer
from tests.privacy.helpers import FILL
from tests.servers import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.live]

EVENTS = 200_000


def fill(user, events=EVENTS):
    """A third of the events the user's own, a third about the address, a third of others."""
    with connection.cursor() as cursor:
        cursor.execute(FILL, [events, user.email])
        cursor.execute("ANALYZE audit_record")


def plan(sql):
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {sql}")
        return "\n".join(line for (line,) in cursor.fetchall())


def events_without_index(asked):
    """The statements on the log that read it from end to end."""
    selects = [one["sql"] for one in asked if 'FROM "audit_record"' in one["sql"]]
    assert selects
    return [sql for sql in selects if "Seq Scan on audit_record" in plan(sql)]


def test_export_finds_events_by_index_in_bounded_memory(bob):
    fill(bob)
    tracemalloc.start()
    with CaptureQueriesContext(connection) as asked:
        size = len(str(export_user(bob, COMMAND)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert events_without_index(asked) == []
    assert size > 1_000_000
    assert peak < 60_000_000


def test_older_events_follow_by_cursor(bob):
    fill(bob, 36_000)
    api, seen, before = bearer(bob), [], ""
    while before is not None:
        answer = api.get("/auth/me/data" + (f"?before={before}" if before else ""))
        data = json.loads(answer.getvalue())
        assert len(data["trail"]) <= MAX_EXPORTED_EVENTS
        seen += data["trail"]
        before = data["next"]

    kinds = [event["kind"] for event in seen]
    assert kinds[0] == Kind.DATA_EXPORTED
    assert sorted(set(kinds)) == ["login.failed", "login.succeeded", "person.exported"]
    assert (kinds.count("login.succeeded"), kinds.count("login.failed")) == (12_000, 12_000)


def test_erasure_finds_events_by_index(bob, eve):
    fill(eve)
    fill(bob, 6_000)
    changed = 0
    with CaptureQueriesContext(connection) as asked:
        Erasure.objects.erase_user(bob, COMMAND)
        while count := Erasure.objects.process_backlog():
            assert count <= 1000
            changed += count

    assert changed == 4_000
    assert events_without_index(asked) == []


def test_large_company_is_deleted_in_one_pass(ada):
    account = ada.account
    User.objects.bulk_create(
        User(email=f"u{n}@example.com", account=account, password="!") for n in range(2000)
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO audit_record (kind, at, actor_id, actor_email, subject, account_id,"
            " address, agent, detail) SELECT 'login.succeeded', now(), id, email, email,"
            " account_id, '', '', '{}' FROM accounts_user"
        )
    with CaptureQueriesContext(connection) as asked:
        Erasure.objects.delete_company(account, COMMAND)
    assert User.objects.count() == 2001  # who are the worker's to erase
    while Erasure.objects.process_backlog():
        pass

    assert len(asked) < 40  # whatever their number
    assert not User.objects.exists()
    assert not AuditEvent.objects.filter(actor_email__contains="@").exists()
    assert (
        AuditEvent.objects.filter(kind="login.succeeded", subject__startswith="company ").count()
        == 2001
    )


@pytest.fixture
def service(new_service):
    """With an operator, z@example.net."""
    return new_service().add_operator("z@example.net")


def kill_halfway(service, left, until):
    """Kill the worker once no more than that is left, and let another do the rest."""
    worker = service.spawn("manage.py", "runworker")
    wait_until(lambda: left() < until, 120)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    assert left() > 0
    service.query("UPDATE privacy_erasure SET erased_at = now() - interval '1 hour'")
    service.manage("runworker", "--once")
    assert left() == 0


def test_worker_that_is_killed_is_resumed(service):
    ask = service.query
    ask(FILL, 90_000, "z@example.net")  # a third are the user's own
    service.manage("shell", "-c", ERASE)

    def left():
        return ask(
            "SELECT count(*) FROM audit_record WHERE kind = 'login.succeeded'"
            " AND actor_email = 'z@example.net'"
        )[0][0]

    kill_halfway(service, left, 28_000)
    assert ask("SELECT count(*) FROM privacy_erasure WHERE done_at IS NOT NULL") == [(1,)]


def test_deletion_of_a_company_that_is_killed_is_resumed(service):
    ask = service.query
    service.manage("shell", "-c", DELETE)

    def left():
        return ask("SELECT count(*) FROM accounts_user WHERE email LIKE 'u%%'")[0][0]

    kill_halfway(service, left, 1_900)
    assert ask("SELECT count(*) FROM accounts_account WHERE name = 'Large'") == [(0,)]
    assert ask(
        "SELECT count(*), count(DISTINCT actor_email) FROM audit_record"
        " WHERE kind = 'login.succeeded'"
    ) == [(2000, 1)]
    assert ask("SELECT count(*) FROM audit_record WHERE actor_email LIKE 'u%%'") == [(0,)]
    assert ask("SELECT count(*) FROM privacy_erasure WHERE done_at IS NOT NULL") == [(1,)]


ERASE = (
    "from accounts.models import User; from audit.actors import COMMAND; "
    "from privacy.models import Erasure; "
    "User.objects.update(is_active=False); "
    "Erasure.objects.erase_user(User.objects.get(), COMMAND)"
)
DELETE = """
from accounts.models import Account, User
from audit.actors import COMMAND
from audit.models import AuditEvent
from privacy.models import Erasure

large = Account.objects.create(name="Large")
users = [User(email=f"u{n}@example.com", account=large, password="!") for n in range(2000)]
User.objects.bulk_create(users)
AuditEvent.objects.bulk_create(
    AuditEvent(kind="login.succeeded", actor_id=user.pk, actor_email=user.email,
           subject_id=user.pk, subject=user.email, account_id=large.pk)
    for user in users
)
Erasure.objects.delete_company(large, COMMAND)
"""
