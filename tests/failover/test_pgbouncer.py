"""Debian's pgbouncer between the service and PostgreSQL, in both of its modes."""

import os
import subprocess
import time

import psycopg
import pytest

from tests import servers
from tests.failover.conftest import writers_of
from tests.services import query

pytestmark = pytest.mark.failover

MODES = {
    "session": "pool_mode=session\ndefault_pool_size=20\nignore_startup_parameters=options",
    "transaction": "pool_mode=transaction\ndefault_pool_size=2",  # fewer than the threads
}


class PgBouncer:
    """One in front of the tests' PostgreSQL, with a pool a database."""

    def __init__(self, folder, mode):
        self.port = servers.free_port()
        self.mode = mode
        (folder / "users").write_text('"postgres" ""\n')
        self.ini = folder / "pgbouncer.ini"
        self.ini.write_text(
            f"[databases]\n* = host=127.0.0.1 port={servers.POSTGRES.port}\n[pgbouncer]\n"
            f"listen_addr=127.0.0.1\nlisten_port={self.port}\nunix_socket_dir=\n"
            f"auth_type=trust\nauth_file={folder}/users\n{MODES[mode]}\n"
            "query_timeout=3\nquery_wait_timeout=3\n"
        )
        for path in [*folder.parents, folder][-2:]:
            path.chmod(0o755)  # pgbouncer refuses to run as root
        self.start()

    def start(self):
        user = servers.POSTGRES.user if os.geteuid() == 0 else None
        command = ["pgbouncer", "-q", str(self.ini)]
        self.process = subprocess.Popen(command, user=user, stderr=subprocess.DEVNULL)
        servers.wait_for_port(self.port)

    def stop(self):
        self.process.kill()
        self.process.wait()

    def url(self, direct):
        """The way to a database of that server through this."""
        url = direct.replace(str(servers.POSTGRES.port), str(self.port))
        return url + "?disable_server_side_cursors=true" * (self.mode == "transaction")


@pytest.fixture(scope="module", params=MODES)
def pgbouncer(request):
    folder = servers.FOLDER / f"pgbouncer-{request.param}"
    folder.mkdir()
    pgbouncer = PgBouncer(folder, request.param)
    yield pgbouncer
    pgbouncer.stop()


@pytest.fixture(scope="module")
def direct(pgbouncer):
    """The address of the database itself, which is set up as docs/configuration.md says."""
    name = f"pooled_by_{pgbouncer.mode}"
    servers.POSTGRES.execute(f"CREATE DATABASE {name}")
    servers.POSTGRES.execute(f"ALTER DATABASE {name} SET client_connection_check_interval = '1s'")
    return servers.POSTGRES.url(name)


@pytest.fixture(scope="module")
def writers(pgbouncer, direct, tmp_path_factory):
    """Everything through pgbouncer, migrating included."""
    writers = writers_of(tmp_path_factory.mktemp("pooled"), pgbouncer.url(direct))
    yield writers
    writers.service.stop()


def test_load_and_commands_work(writers):
    with writers.at_work():
        writers.wait_for_success(time.monotonic(), 60)
        writers.service.manage("locks", "--all")
        time.sleep(2)
    for command in (["runworker", "--once"], ["prune"]):
        writers.service.manage(*command)

    assert writers.statuses() == {201}


def test_restarted_pgbouncer_is_found_again(writers, pgbouncer):
    with writers.at_work():
        writers.wait_for_success(time.monotonic(), 60)
        pgbouncer.stop()
        time.sleep(1)
        pgbouncer.start()
        writers.wait_for_success(time.monotonic(), 5 * 5)

    assert writers.statuses() == {201, 503}


def test_locked_table_leaves_no_query_behind(writers, direct):
    with writers.at_work():
        with psycopg.connect(direct) as locker:
            locker.execute("LOCK TABLE accounts_user IN ACCESS EXCLUSIVE MODE")
            time.sleep(6)
            behind = query(
                direct,
                "SELECT query FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND query_start < now() - interval '4.5 s'",
            )
        writers.wait_for_success(time.monotonic(), 5 * 5)

    assert behind == []
    assert writers.longest_wait() < 5 * 4


def test_timeouts_stay_with_the_web_server(writers, pgbouncer):
    """What a command gets from the pool has no timeout of a request's."""
    assert writers.write() == 201
    code = "from django.db import connection as c; k = c.cursor(); "
    code += "print(k.execute('SHOW statement_timeout').fetchone()[0])"

    assert writers.service.manage("shell", "--no-imports", "-c", code).strip() == "0"
