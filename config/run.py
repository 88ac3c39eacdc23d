"""`make run`: prepare the service, then serve it with the worker beside it until Ctrl-C."""

import os
import signal
import socket
import sys
from subprocess import Popen, call


def run_service() -> int:
    """Migrate the database, and run gunicorn and the worker until a signal ends them, by
    SystemExit. Returns 1 if migrating fails, or if one of the two ends by itself. Raises SystemExit
    with one line if the port is taken."""
    os.environ.setdefault("COOKIE_SECURE", "false")  # plain HTTP on loopback
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit())
    from config import settings

    family = socket.AF_INET6 if settings.BIND.version == 6 else socket.AF_INET
    try:  # gunicorn would try five times, with two lines each
        socket.create_server((str(settings.BIND), settings.PORT), family=family).close()
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        sys.exit(f"Port {settings.PORT}: {reason}. To take another, run `PORT=8001 make run`.")
    if call([sys.executable, "manage.py", "migrate", "--no-input", "--verbosity=0"]):
        return 1
    path = "" if settings.SERVES_PAGES else "/docs"  # a page that is always served
    print(f"Open http://localhost:{settings.PORT}{path}", flush=True)  # noqa: T201
    programs = ["-m", "gunicorn", "config.wsgi"], ["manage.py", "runworker"]
    processes: list[Popen[bytes]] = []
    try:
        for program in programs:
            processes.append(Popen([sys.executable, *program]))
        os.wait()
        return 1  # a process has ended by itself, and has logged why
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


if __name__ == "__main__":
    sys.exit(run_service())
