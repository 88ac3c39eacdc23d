"""`make run`: prepare the service, then serve it with the mail worker beside it until Ctrl-C."""

import os
import signal
import subprocess
import sys
import time

import django
from django.conf import settings
from django.core.management import call_command

PROGRAMS = [
    [sys.executable, "-m", "gunicorn", "config.wsgi"],
    [sys.executable, "manage.py", "sendmail"],
]


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("COOKIE_SECURE", "false")  # plain HTTP on loopback
    django.setup()
    call_command("check")
    call_command("migrate", interactive=False, verbosity=0)
    path = "" if settings.SERVES_PAGES else "/docs"  # which is served in any case
    print(f"Open http://localhost:{settings.PORT}{path}", flush=True)  # noqa: T201
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # raises KeyboardInterrupt
    running = [subprocess.Popen(program) for program in PROGRAMS]
    try:
        while all(process.poll() is None for process in running):
            time.sleep(0.2)
        return 1  # one has ended by itself, and has said why
    except KeyboardInterrupt:
        return 0
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
