"""`make run`: prepare the service, then serve it with the mail worker beside it until Ctrl-C."""

import os
import signal
import subprocess
import sys

PREPARE = ["manage.py", "migrate", "--no-input", "--verbosity=0"]
PROGRAMS = [["-m", "gunicorn", "config.wsgi"], ["manage.py", "sendmail"]]


def main() -> int:
    os.environ.setdefault("COOKIE_SECURE", "false")  # plain HTTP on loopback
    from config import settings

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # raises KeyboardInterrupt
    running: list[subprocess.Popen[bytes]] = []
    try:
        if subprocess.call([sys.executable, *PREPARE]):
            return 1
        path = "" if settings.SERVES_PAGES else "/docs"  # which is always served
        print(f"Open http://localhost:{settings.PORT}{path}", flush=True)  # noqa: T201
        running += [subprocess.Popen([sys.executable, *program]) for program in PROGRAMS]
        os.wait()
        return 1  # one ended by itself, and logged why
    except KeyboardInterrupt:
        return 0
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
