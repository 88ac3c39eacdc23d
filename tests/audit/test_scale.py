"""Lists, exports and pruning with 200,000 audit events and 20,000 users."""

import datetime
import tracemalloc

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.models import AuditEvent

RECORDS, USERS = 200_000, 20_000
DAY = datetime.timedelta(days=1)
FILL = [
    "INSERT INTO audit_record (kind, at, actor_email, subject, address, agent, detail)"
    " SELECT CASE n %% 10 WHEN 0 THEN 'lock.set' ELSE 'login.failed' END,"
    " now() - n * interval '1 minute', '', 'user' || n %% 50000 || '@example.com',"
    " '192.0.2.1', '', '{}' FROM generate_series(1, %s) AS n",
    "INSERT INTO accounts_account (id, name, created_at)"
    " VALUES (gen_random_uuid(), 'Engines', now())",
    "INSERT INTO accounts_user (id, password, is_superuser, account_id, email, first_name,"
    " last_name, role, language, is_active, is_staff, token_version, created_at)"
    " SELECT gen_random_uuid(), '!', false, (SELECT id FROM accounts_account LIMIT 1),"
    " 'user' || n || '@example.com', 'User', 'No ' || n, 'member', 'en', true, false, 1, now()"
    " FROM generate_series(1, %s) AS n",
]


@pytest.fixture(scope="module")
def many_rows(django_db_setup, django_db_blocker):
    """The events and users, made once for this file, and deleted by TRUNCATE after it."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        for statement, values in zip(FILL, ([RECORDS], [], [USERS]), strict=True):
            cursor.execute(statement, values)
        cursor.execute("ANALYZE audit_record, accounts_user")
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("TRUNCATE audit_record, accounts_user, accounts_account CASCADE")


pytestmark = [pytest.mark.usefixtures("many_rows"), pytest.mark.django_db, pytest.mark.live]


@pytest.mark.parametrize(
    "page",
    [
        "audit/record/",
        "audit/record/?p=100",
        "audit/record/?kind__exact=lock.set",
        "audit/record/?q=user777@",
        f"audit/record/?at__gte={timezone.now() - 2 * DAY:%Y-%m-%dT00:00Z}",
        "accounts/user/",
        "accounts/user/?q=user777",
        "accounts/user/?q=user777&role__exact=member&p=2",
    ],
)
def test_large_lists_take_four_queries(operator, page):
    operator.get("/admin/")
    with CaptureQueriesContext(connection) as queries:
        answer = operator.get(f"/admin/{page}")

    assert answer.context["cl"].result_list
    assert len(queries) == 4


@pytest.mark.parametrize(("days", "is_exported"), [(60, True), (120, False)])
def test_export_of_the_audit_log_is_bounded(operator, days, is_exported):
    since = f"{timezone.now() - DAY * days:%Y-%m-%dT00:00Z}"
    url = f"/admin/audit/record/?kind__exact=lock.set&at__gte={since}"
    row = AuditEvent.objects.filter(kind="lock.set").first()
    form = {"action": "export", "_selected_action": [row.pk], "select_across": "1"}
    answer = operator.post(url, form, follow=True)

    assert (answer["Content-Type"] == "text/csv") is is_exported
    assert is_exported or "over 10,000 events. Filter the list" in answer.content.decode()


def test_prune_deletes_many_events_in_bounded_memory(settings):
    settings.AUDIT_KEEP_DAYS = RECORDS / 2 / 1440  # one record a minute
    tracemalloc.start()
    deleted = AuditEvent.objects.prune_expired()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert abs(deleted - RECORDS // 2) < 60  # an hour for the tests before
    assert peak < 5_000_000
