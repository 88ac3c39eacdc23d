"""The back office, and Django's admin with the back office's site as its default one."""

from django.apps import AppConfig
from django.contrib.admin import apps as admin


class BackOfficeConfig(AppConfig):
    name = "backoffice"
    default = True

    def ready(self) -> None:
        from backoffice import checks  # noqa: F401


class SiteConfig(admin.AdminConfig):
    default_site = "backoffice.site.Site"
    default = False  # it is named in INSTALLED_APPS
