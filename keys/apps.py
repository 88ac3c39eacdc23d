from django.apps import AppConfig


class KeysConfig(AppConfig):
    name = "keys"
    verbose_name = "Signing keys"

    def ready(self) -> None:
        from keys import checks  # noqa: F401  (registers them)
