from typing import Any

from django.apps import AppConfig
from django.core.management.base import CommandError
from django.db.backends.signals import connection_created
from django.db.migrations import Migration
from django.db.models.signals import pre_migrate

from accounts.names import extend_sqlite


def refuse_older_releases(plan: list[tuple[Migration, bool]], **_: Any) -> None:
    """Receiver of pre_migrate: raises CommandError for a database older than 2.1, which would need
    the migration 0008_connections. A new one gets the squashed migration in its place."""
    if any(str(migration) == "accounts.0008_connections" for migration, _ in plan):
        raise CommandError("This database is older than 2.1: migrate it with release 2.2 first.")


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "Companies and people"

    def ready(self) -> None:
        from accounts import checks  # noqa: F401  (registers them)

        connection_created.connect(extend_sqlite)
        pre_migrate.connect(refuse_older_releases, sender=self)
