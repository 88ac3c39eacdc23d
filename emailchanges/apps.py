from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EmailChangesConfig(AppConfig):
    name = "emailchanges"
    verbose_name = _("Changes of e-mail addresses")
