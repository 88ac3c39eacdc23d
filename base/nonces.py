"""Values that work once. Only what was used is stored, by its nonce."""

from datetime import timedelta

from django.db import IntegrityError, models, transaction
from django.utils import timezone

from base.batches import delete_in_batches

NONCE_SECONDS = 600  # the longest that a value with a nonce may be valid


class UsedNonceManager(models.Manager["UsedNonce"]):
    def use(self, nonce: str) -> bool:
        """Use up a value that is valid for NONCE_SECONDS at most. Returns False if it was used. One
        statement, which decides races."""
        try:
            with transaction.atomic():
                self.create(nonce=nonce)
        except IntegrityError:
            return False
        return True

    def prune_expired(self) -> int:
        """Delete nonces of expired values, also for a host whose clock is ten minutes behind;
        returns their number."""
        too_old = timezone.now() - timedelta(seconds=2 * NONCE_SECONDS)
        return delete_in_batches(self.filter(used_at__lte=too_old))


class UsedNonce(models.Model):
    """Of a passkey's challenge, a value of company sign-in or a re-authentication."""

    nonce = models.CharField(max_length=32, primary_key=True)
    used_at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = UsedNonceManager()

    class Meta:
        db_table = "signin_usedchallenge"  # hosts of 2.2 use it as well

    def __str__(self) -> str:
        return self.nonce
