"""Django's admin app, with the back office's site as the default site."""

from django.contrib.admin import apps as admin


class SiteConfig(admin.AdminConfig):
    default_site = "backoffice.site.Site"
    default = False  # it is named in INSTALLED_APPS
