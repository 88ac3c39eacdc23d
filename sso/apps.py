from django.apps import AppConfig


class SSOConfig(AppConfig):
    name = "sso"
    verbose_name = "Sign-in at a company's provider"

    def ready(self) -> None:
        from accounts import providers
        from sso.models import IdentityProvider

        providers.rules = IdentityProvider.objects
