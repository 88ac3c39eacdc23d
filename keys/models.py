"""The signing keys that hosts have published, as the database knows them."""

from datetime import UTC, datetime

from django.db import models, transaction
from django.utils import timezone

from audit import trail
from audit.models import Kind


class PublishedKeyManager(models.Manager["PublishedKey"]):
    def record(self, kid: str, signs_from: float) -> None:
        """Tell the database, and the trail, of a key that it does not know yet."""
        moment = datetime.fromtimestamp(signs_from, UTC) if signs_from else None
        with transaction.atomic():
            _, new = self.get_or_create(kid=kid, defaults={"signs_from": moment})
            if new:
                trail.record(Kind.KEY_PUBLISHED, subject=kid, signs_from=moment)

    def withdraw(self, kid: str) -> None:
        """Let no host miss a key any more, whether or not it was known."""
        with transaction.atomic():
            self.update_or_create(kid=kid, defaults={"removed_at": timezone.now()})
            trail.record(Kind.KEY_REMOVED, subject=kid)


class PublishedKey(models.Model):
    """A signing key that one host has published, so that every host must have its file."""

    kid = models.CharField(max_length=43, primary_key=True)
    signs_from = models.DateTimeField(null=True, help_text="Empty for a key that signs at once.")
    published_at = models.DateTimeField(default=timezone.now, editable=False)
    removed_at = models.DateTimeField(null=True)

    objects = PublishedKeyManager()

    class Meta:
        ordering = ["published_at", "kid"]

    def __str__(self) -> str:
        return self.kid
