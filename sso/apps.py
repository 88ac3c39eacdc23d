from django.apps import AppConfig


class SSOConfig(AppConfig):
    name = "sso"
    verbose_name = "Sign-in at a company's provider"
