"""Django's admin with the back office's site as its default one."""

from django.contrib.admin import apps as admin


class SiteConfig(admin.AdminConfig):
    default_site = "backoffice.site.Site"
    default = False  # it is named in INSTALLED_APPS
