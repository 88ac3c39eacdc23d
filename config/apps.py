from django.contrib.admin.apps import AdminConfig


class BackOfficeConfig(AdminConfig):
    """Django's admin, with the project's own site as the default one."""

    default_site = "accounts.site.Site"
