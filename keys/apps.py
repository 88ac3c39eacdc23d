import contextlib
from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class KeysConfig(AppConfig):
    name = "keys"
    verbose_name = _("Signing keys")

    def ready(self) -> None:
        post_migrate.connect(make_first_key, sender=self)


def make_first_key(apps: Any, **options: object) -> None:
    """At the end of `migrate`, unless it stopped before the table."""
    from keys.models import SigningKey

    with contextlib.suppress(LookupError):
        apps.get_model("keys", "SigningKey")
        SigningKey.objects.make_first()
