#!/usr/bin/env python
"""Django's command line for the service; it reads the same environment as the server."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line
    from django.db import Error

    try:
        "".join(sys.argv).encode()
    except UnicodeEncodeError:
        sys.exit("Arguments must be in UTF-8.")
    try:
        execute_from_command_line(sys.argv)
    except (Error, OSError) as error:  # of the database; of the mail server or a file
        if "--traceback" in sys.argv:
            raise
        what = "Database error" if isinstance(error, Error) else type(error).__name__
        sys.exit(f"{what}: {next(iter(str(error).splitlines()), '')}")
    except KeyboardInterrupt:
        sys.exit("Stopped.")


if __name__ == "__main__":
    main()
