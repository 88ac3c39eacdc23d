"""What providers say about themselves, kept so that a sign-in need not ask for it."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import jwt
from django.db import models
from django.utils import timezone

from accounts.models import Connection
from sso import openid
from sso.errors import ProviderFailed, Refusal

METADATA_LIFE = timedelta(days=1)
BETWEEN_READINGS = timedelta(minutes=1)  # of the keys, by all processes together


class ProviderManager(models.Manager["Provider"]):
    def keep(self, connection: Connection, found: dict[str, Any]) -> "Provider":
        """Keep what `openid.discover` has found. The first unknown key is looked for at once."""
        now = timezone.now()
        values = found | {"metadata_read_at": now, "keys_read_at": now - BETWEEN_READINGS}
        return self.update_or_create(connection=connection, defaults=values)[0]

    def of(self, connection: Connection) -> "Provider":
        """What is known about the connection's provider, asked for if nothing is. Raises
        Refusal."""
        kept = self.filter(connection=connection, metadata__issuer=connection.issuer).first()
        return kept or self.keep(connection, openid.discover(connection.issuer))


class Provider(models.Model):
    """A provider's metadata, in the form of `openid.read_metadata`, and its JWK Set.

    In the database, so that all processes together ask once.
    """

    connection = models.OneToOneField(
        Connection, models.CASCADE, primary_key=True, related_name="provider", editable=False
    )
    metadata = models.JSONField(default=dict, editable=False)
    metadata_read_at = models.DateTimeField(default=timezone.now, editable=False)
    keys = models.JSONField(default=list, editable=False)
    keys_read_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = ProviderManager()

    def __str__(self) -> str:
        return str(self.metadata.get("issuer", ""))

    def renew(self) -> None:
        """Read metadata and keys again once a day, since a provider may have withdrawn a key; one
        request does. If that fails they stay."""
        if self.claim(metadata_read_at=timezone.now() - METADATA_LIFE):
            with suppress(Refusal):
                self.store(**openid.discover(self.metadata["issuer"]))

    def find_key(self, kid: str | None, algorithm: str) -> jwt.PyJWK:
        """The key with this `kid`. For an unknown one, and for a token that names none and so can't
        tell that the key was replaced, the metadata and keys are read again, once in
        BETWEEN_READINGS at most. Raises Refusal."""
        key = openid.find_key(self.keys, kid, algorithm)
        is_certain = key is not None and kid is not None
        if not is_certain and self.claim(keys_read_at=timezone.now() - BETWEEN_READINGS):
            self.store(**openid.discover(self.metadata["issuer"]))
            key = openid.find_key(self.keys, kid, algorithm)
        if key is None:
            raise ProviderFailed("unknown key")
        return key

    def store(self, **found: Any) -> None:
        """Keep what was read, unless the connection has another provider meanwhile, or is gone."""
        same = Provider.objects.filter(pk=self.pk, metadata__issuer=self.metadata["issuer"])
        same.update(**found)
        vars(self).update(found)

    def claim(self, **before: Any) -> bool:
        """Whether this request reads what was last read before that time, or by a clock that was
        ahead; one UPDATE decides."""
        ((name, then),), now = before.items(), timezone.now()
        due = Provider.objects.filter(pk=self.pk).exclude(**{f"{name}__range": (then, now)})
        return bool(due.update(**{name: now}))
