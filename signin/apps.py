from django.apps import AppConfig


class SignInConfig(AppConfig):
    name = "signin"
    verbose_name = "Sign-in"

    def ready(self) -> None:
        from signin.devices import Device
        from worker import jobs

        jobs.register_pruning(Device)
