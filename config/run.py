"""`make run`: prepare the service, then serve it with the mail worker beside it.

The contract: decisions §1.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

SERVER = [sys.executable, "-m", "gunicorn", "config.wsgi"]
MAIL_WORKER = [sys.executable, "manage.py", "sendmail"]


def prepare() -> None:
    """Check the settings and migrate."""
    import django
    from django.core.management import call_command

    django.setup()
    call_command("check")
    call_command("migrate", interactive=False, verbosity=0)


def start_watch() -> subprocess.Popen[bytes]:
    """Start a shell that ends all children once this process is gone, however it went: its end of
    the pipe closes then.

    It leads the children's process group, which Ctrl-C does not reach: this process alone hears of
    it, and ends the children in order instead of each of them twice.
    """
    command = ["sh", "-c", "read -r _; kill 0"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0)


def start(command: list[str], watch: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, process_group=watch.pid)


def end(children: list[subprocess.Popen[bytes]], watch: subprocess.Popen[bytes]) -> None:
    """Stop the children that still run, gently first."""
    for child in children:
        child.terminate()
    deadline = time.monotonic() + 15
    for child in children:
        try:
            child.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(watch.pid, signal.SIGKILL)
    watch.communicate()


def is_open(port: int) -> bool:
    """Whether the server accepts connections: it loads everything before it does."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("COOKIE_SECURE", "false")  # plain HTTP on loopback
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stopping.set())
    prepare()
    from django.conf import settings

    watch = start_watch()
    server, mail_worker = start(SERVER, watch), start(MAIL_WORKER, watch)
    reported = False
    while not stopping.wait(0.2) and server.poll() is None:
        if not reported and is_open(settings.PORT):
            reported = True
            path = "" if settings.SERVES_PAGES else "/docs"  # which is served in any case
            print(f"Open http://localhost:{settings.PORT}{path}", flush=True)  # noqa: T201
        if mail_worker.poll() is not None:  # killed: its mails wait in the database
            time.sleep(1)
            mail_worker = start(MAIL_WORKER, watch)
    end([server, mail_worker], watch)
    return 0 if stopping.is_set() else server.returncode


if __name__ == "__main__":
    sys.exit(main())
