from django.apps import AppConfig


class EmailChangesConfig(AppConfig):
    name = "emailchanges"
    verbose_name = "Changes of e-mail addresses"
