"""The app's Django application."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ThrottlingConfig(AppConfig):
    name = "throttling"
    verbose_name = _("Throttling")

    def ready(self) -> None:
        from throttling import checks  # noqa: F401  (registers them)
