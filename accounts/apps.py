from django.apps import AppConfig
from django.db.backends.signals import connection_created

from accounts.names import extend_sqlite


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "Companies and people"

    def ready(self) -> None:
        from accounts import checks  # noqa: F401  (registers them)

        connection_created.connect(extend_sqlite)
