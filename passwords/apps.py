from django.apps import AppConfig


class PasswordsConfig(AppConfig):
    name = "passwords"
    verbose_name = "Password changes"
