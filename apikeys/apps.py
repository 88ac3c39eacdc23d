from django.apps import AppConfig


class ApiKeysConfig(AppConfig):
    name = "apikeys"
    verbose_name = "API keys"

    def ready(self) -> None:
        from apikeys.models import ApiKey
        from worker import jobs

        jobs.register_pruning(ApiKey)
