"""`manage.py roles`: the groups that support works in."""

from typing import Any

from django.core.management.base import BaseCommand

from backoffice.roles import make_roles


class Command(BaseCommand):
    help = (
        "Make the groups for support: one that looks at everything and changes nothing, and a "
        "first line that unlocks and sends again. Run it again after an upgrade."
    )

    def handle(self, *args: object, **options: Any) -> None:
        for name, count in make_roles().items():
            self.stdout.write(f"{name}: {count} permissions")
