from django.apps import AppConfig


class SignInConfig(AppConfig):
    name = "signin"
    verbose_name = "Sign-in"
