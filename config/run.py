"""`make run`: prepare the service, then serve it with the mail worker beside it until Ctrl-C."""

import os
import signal
import subprocess
import sys

import django
from django.conf import settings
from django.core.management import call_command

PROGRAMS = [["-m", "gunicorn", "config.wsgi"], ["manage.py", "sendmail"]]


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("COOKIE_SECURE", "false")  # plain HTTP on loopback
    django.setup()
    call_command("migrate", interactive=False, verbosity=0, skip_checks=False)
    path = "" if settings.SERVES_PAGES else "/docs"  # which is always served
    print(f"Open http://localhost:{settings.PORT}{path}", flush=True)  # noqa: T201
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # raises KeyboardInterrupt
    running = [subprocess.Popen([sys.executable, *program]) for program in PROGRAMS]
    try:
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
