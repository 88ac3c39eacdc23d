from django.apps import AppConfig


class PrivacyConfig(AppConfig):
    name = "privacy"

    def ready(self) -> None:
        from privacy.models import Erasure
        from worker import jobs

        jobs.register("erasures", Erasure.objects.process_backlog)
        jobs.register_pruning(Erasure)
