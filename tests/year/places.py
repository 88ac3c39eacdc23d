"""The two hosts, the servers that they share, and their operators, all in the year's time."""

import contextlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests import servers
from tests.config.guide import GUIDE, Shells, block
from tests.config.test_checks import PRODUCTION
from tests.conftest import Service, query
from tests.hosts.conftest import Balancer
from tests.releases.fill import SECRET_KEY
from tests.year import releases
from tests.year.post import PATIENCE, Post, wait_until

POLITE = 0.5  # seconds from one question to the next, of a wait that is counted by the limits
METRICS_TOKEN = "the year's scraper"
DUMP = Path("tests/releases/1.0.0.postgresql.sql").resolve()
SHARED = PRODUCTION | {
    "SECRET_KEY": SECRET_KEY,
    "ALLOWED_HOSTS": "api.consulting.test,127.0.0.1",  # no nginx here
    "WEB_CONCURRENCY": "1",
    "WEB_THREADS": "4",
    "METRICS_TOKEN": METRICS_TOKEN,
    "REFRESH_TOKEN_SECONDS": "172800",  # who calls once a day stays signed in
    "AUDIT_KEEP_DAYS": "100",  # so that it is pruned within the year
}


class Host(Service):
    """One host: a gunicorn, a mail worker and a key folder of its own, in its own time."""

    def __init__(self, folder, name, release, **environment):
        super().__init__(folder, **(SHARED | environment))
        self.name, self.release = name, release
        self.environment["DATA_DIR"] = str(folder)
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        self.keys = folder / "keys"

    def spawn(self, *command):
        with self.log_path.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *command],
                env=self.environment,
                cwd=self.release,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def manage(self, *words):
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            env=self.environment,
            cwd=self.release,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self):
        super().start()
        self.mail_worker = self.spawn("manage.py", "sendmail")
        return self

    def end(self):
        """Both programs, as systemd ends them."""
        for process in (self.server, self.mail_worker):
            process.terminate()
        for process in (self.server, self.mail_worker):
            assert process.wait(PATIENCE) == 0


class Places:
    """The hosts `a` and `b`, PostgreSQL, Redis, the mail server and the operators' shells."""

    def __init__(self, folder, clock):
        self.folder, self.clock, self.post = folder, clock, Post()
        self.database = servers.PostgresServer("year", more=clock.environment("database"))
        self.store = servers.RedisServer(more=clock.environment("store"))
        self.shells = Shells(self.database, folder / "a")
        (folder / "a").mkdir()
        self.release = releases.copy(folder / "releases/2", "1.1.0")
        self.hosts = [self.host(name) for name in ("a", "b")]
        self.balancer = Balancer(list(self.hosts))

    def host(self, name):
        (self.folder / name).mkdir(exist_ok=True)
        return Host(
            self.folder / name,
            name,
            self.release,
            DATABASE_URL=self.shells.service,
            REDIS_URL=self.store.url,
            EMAIL_URL=f"smtp://127.0.0.1:{self.post.port}",
            **self.clock.environment(name),
        )

    def operators(self, script, **more):
        """Commands of the guide in the operators' shell of the first host."""
        told = {name: self.hosts[0].environment[name] for name in SHARED}
        told |= self.clock.environment("a") | {"REDIS_URL": self.store.url}
        told |= {"DATABASE_URL": self.shells.service}
        script = f"cd {self.release}\n{script}"
        return self.shells.as_operator(script, **(told | more)).stdout

    def set_up(self):
        """By the guide, on the database of 1.0.0 and its people: the first upgrade."""
        self.shells.as_postgres(block("as `postgres`, the role that owns the tables"))
        self.operators(f'psql -q "$OWNER_URL" -v ON_ERROR_STOP=1 -f {DUMP}')
        query(self.shells.owner, "UPDATE assistants_grant SET created_at = now()")
        self.operators(block("The owner's address stands in no file"))
        self.hosts[0].manage("makekey")
        shutil.copytree(self.hosts[0].keys, self.hosts[1].keys)
        for host in self.hosts:
            host.start()

    def stop(self):
        try:
            for host in self.hosts:
                host.stop()
        finally:
            self.post.stop()
            self.database.stop()
            self.store.stop()

    # Keys

    def rotate(self, *words):
        """A new key on the first host, as `rotatekeys` is told to; the name of its file."""
        before = set(self.hosts[0].keys.iterdir())
        self.hosts[0].manage("rotatekeys", *words)
        (new,) = set(self.hosts[0].keys.iterdir()) - before
        return new.name

    def copy_keys(self):
        """As `rsync -a --delete` of the folder does."""
        here, there = (host.keys for host in self.hosts)
        for path in here.iterdir():
            shutil.copy2(path, there / path.name)
        for path in there.iterdir():
            if not (here / path.name).exists():
                path.unlink()
        wait_until(lambda: len({keys_of(host) for host in self.hosts}) == 1, POLITE)

    # Backups

    def back_up(self):
        """By the guide; the dump."""
        self.operators(block("by the role that serves (a dump only reads)"))
        return max(self.shells.folder.glob("*.dump"), key=lambda path: path.name)

    def restore(self, dump):
        """By the guide, from stopping all hosts to starting them again."""
        for host in self.hosts:
            host.end()
        self.shells.as_postgres(block("set aside what is there"))
        self.operators(block("in the operators' shell of the release"), dump=str(dump))
        self.shells.as_postgres("dropdb consulting_before")
        for host in self.hosts:
            host.start()

    # Releases

    def migrate_to(self, release):
        """The guide's steps before the restarts."""
        self.release = release
        (line,) = re.findall(r"(?m)^    (DATABASE_URL=\"\$OWNER_URL\" PGOPTIONS.*)$", GUIDE)
        self.operators(f".venv/bin/python manage.py check --deploy --fail-level WARNING\n{line}")

    def restart(self, host):
        """With the present release, out of the balancer meanwhile."""
        self.balancer.hosts = [other for other in self.hosts if other is not host]
        host.end()
        host.release = self.release
        host.start()
        self.balancer.hosts = list(self.hosts)

    @contextlib.contextmanager
    def without(self, host):
        """A host is down; the balancer notices."""
        self.balancer.hosts = [other for other in self.hosts if other is not host]
        host.end()
        try:
            yield
        finally:
            host.start()
            self.balancer.hosts = list(self.hosts)

    # What there is

    def write_mail(self, kind, email):
        """A mail as a release that knows the kind has it written."""
        query(
            self.shells.service,
            "INSERT INTO mail_outgoingmail (id, kind, email, language, state, created_at, due_at,"
            " attempts, problem, origin)"
            " VALUES (gen_random_uuid(), %s, %s, 'en', 'ready', now(), now(), 0, '', '{}')",
            kind,
            email,
        )

    def wait_until_mails_are_tried(self):
        """Until each mail that is due and of a known kind is sent, or put off."""
        due = "SELECT 1 FROM mail_outgoingmail WHERE state IN ('requested', 'ready')"
        due += f" AND due_at <= now() AND kind <> '{releases.MAIL_OF_TOMORROW}'"
        wait_until(lambda: not query(self.shells.service, due))

    def prune(self):
        """What a mail worker does hourly, of whose hours the year has too few. Twice, since what is
        kept for the sake of other rows goes an hour after them."""
        for host in self.hosts:
            host.manage("prune")

    def wait_until_well(self):
        """Those that are in the balancer."""
        wait_until(lambda: all(host_is_well(host) for host in self.balancer.hosts))

    def clean_up(self):
        """Keep the backups of the last weeks."""
        for old in sorted(self.shells.folder.glob("*.dump"))[:-6]:
            old.unlink()


def host_is_well(host):
    answer = Balancer([host]).ask("192.0.2.1", "GET", "/health")
    return bool(answer.json()["status"] == "ok")


def keys_of(host):
    """The public keys as a host gives them."""
    answer = Balancer([host]).ask("192.0.2.1", "GET", "/.well-known/jwks.json")
    assert answer.status == 200, answer.body
    return answer.body
