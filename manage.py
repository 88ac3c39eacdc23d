#!/usr/bin/env python
"""Django's command line for the service; it reads the same environment as the server."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from config.commands import run

    run(sys.argv)


if __name__ == "__main__":
    main()
