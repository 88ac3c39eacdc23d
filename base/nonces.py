"""Values that work once, such as a passkey's challenge. A used value's nonce is stored."""

from datetime import timedelta

from django.db import IntegrityError, models, transaction
from django.utils import timezone

from base.batches import delete_in_batches

NONCE_SECONDS = 600  # for which a value with a nonce may be valid, at most


class UsedNonceManager(models.Manager["UsedNonce"]):
    def use(self, nonce: str) -> bool:
        """Use up a value that is valid for NONCE_SECONDS at most, by its nonce of at most 32
        characters. Returns False if it was used before. Of two requests at once one gets True: the
        other's INSERT waits until the transaction of the first has ended."""
        try:
            with transaction.atomic():
                self.create(nonce=nonce)
        except IntegrityError:
            return False
        return True

    def prune_expired(self) -> int:
        """Delete the nonces whose values have expired, also by a host's clock that is ten minutes
        behind; returns their number."""
        latest_use = timezone.now() - timedelta(seconds=2 * NONCE_SECONDS)
        return delete_in_batches(self.filter(used_at__lte=latest_use))


class UsedNonce(models.Model):
    """The nonce of a passkey's challenge, of a sealed value of company sign-in, or of a
    re-authentication."""

    nonce = models.CharField(max_length=32, primary_key=True)
    used_at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = UsedNonceManager()

    class Meta:
        db_table = "signin_usedchallenge"  # hosts of 2.2 use it as well

    def __str__(self) -> str:
        return self.nonce
