"""`manage.py rotatekeys`: publish a new signing key, and delete those that have served."""

import json
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts import keys


class Command(BaseCommand):
    help = (
        "Publish a new signing key, which signs after a delay, and delete the keys whose last "
        "token has died. Running processes notice by themselves."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--delay",
            type=int,
            default=keys.PUBLISH_SECONDS,
            metavar="SECONDS",
            help="from when the key is published until it signs (default: %(default)s)",
        )
        parser.add_argument(
            "--only-remove", action="store_true", help="publish nothing, delete what is dead"
        )
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["delay"] < 0:
            raise CommandError("--delay must not be negative.")
        if options["delay"] < keys.JWKS_SECONDS + keys.LOOK_SECONDS:
            self.stderr.write("Some clients may meet the key before they have heard of it.")
        try:
            with transaction.atomic():
                new = None if options["only_remove"] else keys.publish(options["delay"])
                removed = keys.remove_dead()
        except FileExistsError:
            raise CommandError("A key that begins to sign at that second is there.") from None
        except (OSError, ImproperlyConfigured) as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(report(new, removed)))
            return
        if new:
            self.stdout.write(f"published {new.kid}, which signs in {options['delay']} s")
        for key in removed:
            self.stdout.write(f"removed {key.kid}")


def report(new: keys.Key | None, removed: list[keys.Key]) -> dict[str, Any]:
    published = new and {"kid": new.kid, "signs_from": int(new.signs_from)}
    return {"published": published, "removed": [key.kid for key in removed]}
