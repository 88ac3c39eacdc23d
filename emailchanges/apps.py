from django.apps import AppConfig


class EmailChangesConfig(AppConfig):
    name = "emailchanges"
    verbose_name = "E-mail changes"
