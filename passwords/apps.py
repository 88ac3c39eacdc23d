from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PasswordsConfig(AppConfig):
    name = "passwords"
    verbose_name = _("Password changes")
