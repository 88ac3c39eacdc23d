from django.apps import AppConfig


class ThrottlingConfig(AppConfig):
    name = "throttling"
    verbose_name = "Throttling"

    def ready(self) -> None:
        from throttling import checks  # noqa: F401  (registers them)
