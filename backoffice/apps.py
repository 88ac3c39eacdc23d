"""The back office, and Django's admin with the back office's site as its default one."""

from django.apps import AppConfig, apps
from django.contrib.admin import apps as admin
from django.utils.translation import gettext_lazy as _


class BackOfficeConfig(AppConfig):
    name = "backoffice"
    verbose_name = _("Back office")
    default = True

    def ready(self) -> None:
        from backoffice import checks  # noqa: F401
        from backoffice.names import speak

        for model in apps.get_models():
            speak(model)


class SiteConfig(admin.AdminConfig):
    default_site = "backoffice.site.Site"
    default = False  # it is named in INSTALLED_APPS
