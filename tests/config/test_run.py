"""`make run`'s program: serves, delivers mail, and ends with every process it has started."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests.config.helpers import Run
from tests.logs import SECRETS
from tests.requests import ask
from tests.servers import free_port

pytestmark = pytest.mark.live


@pytest.fixture
def start(tmp_path):
    runs = []
    port = free_port()

    def make(**settings):
        runs.append(Run(tmp_path, port, **settings))
        return runs[-1]

    yield make
    for run in runs:
        run.process.terminate()
        run.process.wait(20)
        # The mails with their links are in this log, and stand for the mailbox: nothing else is.
        assert not SECRETS.search(run.log.replace("#token=", ""))


def mailed_link(run):
    """Ask for a sign-up link, and give a body that completes the sign-up with it."""
    assert ask(run.url, "POST", "/auth/signup", {"email": "a@example.com"}).status == 200
    token = run.wait_for(r"/complete-signup#token=([\w-]{64})")[1]
    body = {"token": token, "account_name": "A", "first_name": "A", "last_name": "B"}
    return body | {"password": "correct horse"}


def test_make_run_serves_a_sign_up_whose_session_survives_a_restart(start):
    first = start()
    first.wait_for(rf"(?m)^Open {first.url.replace('127.0.0.1', 'localhost')}$")
    body = mailed_link(first)
    mail = first.wait_for(r"(?s)-{72}\n(To: a@example.com\nSubject: .+?)\n-{72}\n")[1]
    assert mail.count("http://localhost:") == mail.count("http://") == mail.count("#token=") == 1
    assert "<p" not in mail
    assert "MIME-Version" not in first.log
    answer = ask(first.url, "POST", "/auth/complete-signup", body)
    assert "Secure" not in answer.headers["Set-Cookie"]  # plain HTTP on loopback
    end_by(signal.SIGINT, first)

    second = start()

    tokens = answer.json()
    bearer = f"Bearer {tokens['access_token']}"
    assert ask(second.url, "GET", "/auth/me", authorization=bearer).status == 200
    body = {"refresh_token": tokens["refresh_token"]}
    assert ask(second.url, "POST", "/auth/refresh", body).status == 200
    end_by(signal.SIGTERM, second)


def end_by(number, run):
    """Signal all processes, as a terminal does at Ctrl-C. Asserts that none is left."""
    run.wait_for("Booting worker")
    children = run.children()
    assert len(children) >= 3  # gunicorn, its worker, the worker
    os.killpg(run.process.pid, number)

    assert run.process.wait(30) == 0
    assert not [child for child in children if child.is_running()]
    assert run.log.count("Open ") == 1


def test_ctrl_c_ends_make_run_despite_open_connections(start):
    """A browser's connection is idle, and another client has sent half a request."""
    run = start()
    host, port = urlsplit(run.url).netloc.split(":")
    tab, half = HTTPConnection(host, int(port)), socket.create_connection((host, port))
    with closing(tab), half:
        half.sendall(b"GET /health HTTP/1.1\r\n")
        tab.request("GET", "/health")
        assert tab.getresponse().read()
        before = time.monotonic()
        end_by(signal.SIGINT, run)

    assert time.monotonic() - before < 5
    assert "SIGKILL" not in run.log


def run_to_its_end(**settings):
    command, environment = [sys.executable, "-m", "config.run"], {"PATH": os.environ["PATH"]}
    return subprocess.run(command, env=environment | settings, capture_output=True, check=False)


def test_make_run_names_the_documentation_without_built_in_pages(start, tmp_path):
    run = start(FRONTEND_URL="http://localhost:5173")

    run.wait_for(rf"(?m)^Open {run.url.replace('127.0.0.1', 'localhost')}/docs$")
    assert ask(run.url, "GET", "/docs").status == 200
    assert ask(run.url, "GET", "/").status == 404
    second_run = run_to_its_end(PORT=run.url.rpartition(":")[2], DATA_DIR=str(tmp_path / "other"))
    assert (second_run.returncode, second_run.stdout) == (1, b"")
    assert b"in use" in second_run.stderr
    assert second_run.stderr.count(b"\n") == 1
    end_by(signal.SIGHUP, run)


def test_make_run_ends_with_one_line_without_a_database(tmp_path):
    dead = "postgres://a:hunter2secret@127.0.0.1:1/a"
    done = run_to_its_end(DATABASE_URL=dead, DATA_DIR=str(tmp_path))

    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"Database error: ")
    assert done.stderr.count(b"\n") == 1
    assert b"hunter2secret" not in done.stderr


def test_races_end_on_sqlite_as_they_do_on_postgresql(start):
    run = start(RATE_LIMIT_CREDENTIAL="1000", DEVICE_LOCKOUT="true")
    body = mailed_link(run)

    def complete(_):
        return ask(run.url, "POST", "/auth/complete-signup", body).status

    def guess(_):
        wrong = {"email": "b@example.com", "password": "wrong password"}
        return ask(run.url, "POST", "/auth/login", wrong).status

    def guess_as_known(device):
        wrong = {"email": "a@example.com", "password": "wrong password"}
        return ask(run.url, "POST", "/auth/login", wrong, Cookie=device).status

    right = {"email": "a@example.com", "password": body["password"]}
    with ThreadPoolExecutor(20) as pool:  # fewer than the queue of hashes takes
        assert sorted(pool.map(complete, range(30))) == [200] + [400] * 29
        assert sorted(pool.map(guess, range(30))) == [401] * 5 + [429] * 25
        cookies = ask(run.url, "POST", "/auth/login", right).headers.get_all("Set-Cookie") or []
        device = re.findall(r"service_device=[^;]+", " ".join(cookies))[0]
        assert sorted(pool.map(guess_as_known, [device] * 12)) == [401] * 5 + [429] * 7
