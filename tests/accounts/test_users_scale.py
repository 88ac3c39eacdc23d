"""GET /users with 20,000 users in a company, and /auth/me: what the database reads for them.

Blocks are counted instead of milliseconds, which say more about the machine than about a plan.
"""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.clients import bearer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.live]
PATHS = [
    "/users",
    "/users?page=1001",  # the last one
    "/users?page=500&per_page=40&role=member",
    "/users?search=last29&role=member",
    "/users?search=nobody",
    "/auth/me",
]
COMPANIES = """
INSERT INTO accounts_account (id, name, created_at)
SELECT gen_random_uuid(), 'Company ' || n, now() FROM generate_series(1, %s) n
"""
INSERT_USERS = """
INSERT INTO accounts_user (id, account_id, email, first_name, last_name, role, language, is_active,
    is_staff, is_superuser, token_version, created_at, password)
SELECT gen_random_uuid(), company.id, n || '@' || company.id, 'First' || n * 7919 %% 5000,
    'Last' || n * 7907 %% 3000, 'member', 'en', true, false, false, 1, now(), '!'
FROM accounts_account company, generate_series(1, %s) n WHERE company.name LIKE %s
"""
PROFILES = """
INSERT INTO accounts_consultant (id, account_id, name, user_id, manager_id)
SELECT gen_random_uuid(), account_id, '', id, id FROM accounts_user
ON CONFLICT (user_id) DO NOTHING
"""


def fill(companies, people, names):
    """Make companies, then people in each company of such a name, and their profiles."""
    with connection.cursor() as cursor:
        cursor.execute(COMPANIES, [companies])
        cursor.execute(INSERT_USERS, [people, names])
        cursor.execute(PROFILES)
        cursor.execute("VACUUM ANALYZE accounts_user, accounts_consultant")


def nodes(plan):
    yield plan
    for part in plan.get("Plans", []):
        yield from nodes(part)


def plans(api, path):
    """The plan of each query that a GET of the path makes, with the blocks that were read."""
    with CaptureQueriesContext(connection) as queries:
        assert api.get(path).status_code == 200
    executed = []
    for query in queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query['sql']}")
            (plan,) = cursor.fetchone()
        executed.append((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
    return executed


def blocks(plans):
    return sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans)


def test_lists_of_users_read_indexes_and_nothing_of_other_companies(ada):
    as_ada = bearer(ada)
    fill(0, 20_000, ada.account.name)
    alone = {path: blocks(plans(as_ada, path)) for path in PATHS}
    fill(199, 300, "Company %")

    for path in PATHS:
        among_others = plans(as_ada, path)

        kinds = {node["Node Type"] for plan in among_others for node in nodes(plan)}
        read_whole = {
            node["Relation Name"]
            for plan in among_others
            for node in nodes(plan)
            if node["Node Type"] == "Seq Scan"
        }
        # PostgreSQL reads small tables whole once autovacuum has counted their rows.
        assert not read_whole & {"accounts_user", "accounts_consultant"}, path
        assert any("Index" in kind for kind in kinds), path
        assert blocks(among_others) <= alone[path] * 1.2 + 60, path


def test_first_page_and_me_read_few_blocks_in_a_large_company(ada, new_user):
    fill(1, 20_000, "Company %")
    as_ada = bearer(ada)
    before = blocks(plans(as_ada, "/auth/me"))

    assert blocks(plans(as_ada, "/users")) < 60
    assert before < 20
