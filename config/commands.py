"""What holds for every `manage.py` command: on which database it works, and how it fails.

A command of Django's prints a traceback where the database is away, and would make a new SQLite
file where an operator has forgotten the environment.
"""

import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

# They need no database, or ask before they touch one.
DEVELOPMENT = {
    "check",
    "compilemessages",
    "diffsettings",
    "findstatic",
    "help",
    "makemessages",
    "makemigrations",
    "runserver",
    "shell",
    "sqlmigrate",
    "test",
    "version",
}


def run(arguments: list[str]) -> None:
    """Run a command as Django does; what stops it ends in one line and an exit status.

    1 for a database that fails, 130 for Ctrl-C and 141 for a reader that hung up (128 and the
    signal's number, as a shell reports them).
    """
    from django.core.management import execute_from_command_line
    from django.db import Error

    try:
        name_database(arguments[1:])
        execute_from_command_line(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        end("stopped", 128 + signal.SIGINT)
    except BrokenPipeError:
        # Python flushes once more at its exit, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except Error as error:
        end(f"database: {first_line(error)}", 1)


def first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def end(words: str, status: int) -> NoReturn:
    sys.stderr.write(f"{words}\n")
    sys.exit(status)


def name_database(words: list[str]) -> None:
    """Say on which database an operator's command works; refuse to make an SQLite by the way.

    `make run` makes its own, and so does `migrate` where DATABASE_URL asks for one.
    """
    name = next((word for word in words if not word.startswith("-")), "help")
    if name in DEVELOPMENT or {"-h", "--help"} & set(words):
        return
    from django.conf import settings

    database = settings.DATABASES["default"]
    place = str(database["NAME"])
    if not database["ENGINE"].endswith("sqlite3"):
        place = f"{place} at {database['HOST'] or 'this machine'}"
    elif not Path(place).exists():
        is_named = not {"DATABASE_URL", "DATABASE_URL_FILE"}.isdisjoint(os.environ)
        if not is_named:
            end(f"DATABASE_URL is unset, and there is no {place}: is the environment read?", 1)
        elif name != "migrate":
            end(f"there is no {place}: `manage.py migrate` makes it", 1)
    sys.stderr.write(f"database: {place}\n")
