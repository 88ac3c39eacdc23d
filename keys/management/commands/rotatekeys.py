"""`manage.py rotatekeys`: publish a new signing key, and delete those that have served."""

import json
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import Error, transaction

from keys import folder
from keys.clock import MOST_SECONDS, seconds_ahead
from keys.published import LOOK_SECONDS
from keys.ring import Key


class Command(BaseCommand):
    help = (
        "Publish a new signing key, which signs after a delay, and delete the keys whose last "
        "token has died. Running processes notice by themselves."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--delay",
            type=int,
            default=folder.PUBLISH_SECONDS,
            metavar="SECONDS",
            help="from when the key is published until it signs (default: %(default)s)",
        )
        parser.add_argument(
            "--only-remove", action="store_true", help="publish nothing, delete what is dead"
        )
        parser.add_argument(
            "--withdraw",
            metavar="KID",
            help="delete this key though its tokens live, since it has leaked; publish nothing. "
            "With an equals sign, `--withdraw=KID`: an id may begin with a hyphen",
        )
        parser.add_argument("--json", action="store_true", help="report as JSON")

    def handle(self, *args: object, **options: Any) -> None:
        publishes = not options["only_remove"] and not options["withdraw"]
        if options["delay"] < 0:
            raise CommandError("--delay must not be negative.")
        if publishes and options["delay"] < folder.JWKS_SECONDS + LOOK_SECONDS:
            self.stderr.write("Some clients may meet the key before they have heard of it.")
        if not options["withdraw"]:  # a key that has leaked goes at any time
            check_clock()
        try:
            with transaction.atomic():
                new = folder.publish(options["delay"]) if publishes else None
                removed = [key.kid for key in folder.remove_dead()]
                if options["withdraw"]:
                    folder.withdraw(options["withdraw"])
                    removed.append(options["withdraw"])
        except FileExistsError:
            raise CommandError("A key that begins to sign at that second is there.") from None
        except (OSError, ImproperlyConfigured, LookupError) as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            self.stdout.write(json.dumps(report(new, removed)))
            return
        if new:
            self.stdout.write(f"published {new.kid}, which signs in {options['delay']} s")
        for kid in removed:
            self.stdout.write(f"removed {kid}")


def check_clock() -> None:
    """Raise CommandError where this host's clock is wrong by the database's: by it keys are named
    for when they sign, and deleted once their last token has died. One that is away has no say."""
    try:
        seconds = seconds_ahead()
    except Error:
        return
    if abs(seconds) > MOST_SECONDS:
        raise CommandError(
            f"This host's clock is {abs(seconds):.0f} s {'ahead of' if seconds > 0 else 'behind'} "
            "the database's: set it right first (NTP), since keys sign and go by it."
        )


def report(new: Key | None, removed: list[str]) -> dict[str, object]:
    published = new and {"kid": new.kid, "signs_from": int(new.signs_from)}
    return {"published": published, "removed": removed}
