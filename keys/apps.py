from django.apps import AppConfig


class KeysConfig(AppConfig):
    name = "keys"

    def ready(self) -> None:
        from keys.models import SigningKey
        from worker import jobs

        jobs.register_pruning(SigningKey)
