"""What every manage.py command says and does where the environment or the database is not right."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from tests import servers
from tests.servers import free_port


def manage(*words, **environment):
    told = {"PATH": os.environ["PATH"]} | environment
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(command, env=told, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["migrate", "locks", "createsuperuser", "rotatekey"])
def test_forgotten_environment_makes_no_database(tmp_path, command):
    done = manage(command, DATA_DIR=str(tmp_path))

    assert done.returncode == 1
    assert done.stderr.startswith("DATABASE_URL is unset, and there is no ")
    assert not list(tmp_path.glob("*.sqlite3"))


def test_migrate_makes_the_database_that_is_asked_for(tmp_path):
    url = f"sqlite:///{tmp_path}/own.sqlite3"
    refused = manage("locks", DATA_DIR=str(tmp_path), DATABASE_URL=url)
    made = manage("migrate", "-v0", DATA_DIR=str(tmp_path), DATABASE_URL=url)
    done = manage("locks", DATA_DIR=str(tmp_path), DATABASE_URL=url)

    assert (refused.returncode, made.returncode, done.returncode) == (1, 0, 0)
    assert done.stderr == f"database: {tmp_path}/own.sqlite3\n"


@pytest.mark.parametrize("command", ["locks", "migrate", "signout --everybody", "prune"])
def test_database_that_refuses_ends_in_one_line(tmp_path, command):
    url = f"postgres://me:hunter2secret@127.0.0.1:{free_port()}/consulting"
    done = manage(*command.split(), DATA_DIR=str(tmp_path), DATABASE_URL=url)

    named, problem = done.stderr.splitlines()
    assert (done.returncode, named) == (1, "database: consulting at 127.0.0.1")
    assert problem.startswith("database: connection failed")
    assert "hunter2secret" not in done.stderr


def test_database_without_tables_ends_in_one_line(tmp_path):
    done = manage("locks", DATA_DIR=str(tmp_path), DATABASE_URL=servers.POSTGRES.url())

    assert done.returncode == 1
    assert done.stderr.splitlines()[1].startswith('database: relation "throttling_lockout"')


def test_closed_pipe_is_no_error(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "manage.py", "check"]
    told = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    done = subprocess.run(command, env=told, stdout=writer, stderr=subprocess.PIPE, check=False)

    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_ctrl_c_ends_in_one_line(tmp_path):
    # A server that accepts and says nothing: the command waits for it.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgres://me@127.0.0.1:{silent.getsockname()[1]}/consulting"
        told = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "DATABASE_URL": url}
        # Background jobs of a shell, and what they start, ignore the signal: env lifts that.
        command = ["env", "--default-signal=INT", sys.executable, "manage.py", "prune"]
        process = subprocess.Popen(command, env=told, stderr=subprocess.PIPE, text=True)
        peer, _ = silent.accept()
        with peer:
            peer.recv(8)  # the request for TLS: from now on it only waits
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=10)

    assert process.returncode == 128 + signal.SIGINT
    assert said.splitlines()[1:] == ["stopped"]
