from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "Companies and people"

    def ready(self) -> None:
        from accounts import checks  # noqa: F401  (registers them)
