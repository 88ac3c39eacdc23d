from django.apps import AppConfig


class SignInConfig(AppConfig):
    name = "signin"
    verbose_name = "Sign-in"

    def ready(self) -> None:
        from signin.devices import Device
        from signin.factors.models import UsedChallenge
        from worker import jobs

        jobs.register_pruning(Device, UsedChallenge)
