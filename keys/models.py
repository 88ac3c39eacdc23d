"""The signing keys: one row each, which every host reads."""

import base64
import hashlib
import json
from datetime import timedelta
from functools import cached_property
from typing import Any

import jwt
from cryptography.fernet import InvalidToken
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.db import models, transaction
from django.db.models.functions import Now
from jwt.algorithms import RSAAlgorithm

import audit
from audit.models import Kind
from base.secret_key import fernet_for

PURPOSE = "signing keys"
READ_SECONDS = 2  # how often each process reads the keys


class SigningKeyManager(models.Manager["SigningKey"]):
    def publish(self, delay: float) -> "SigningKey":
        """Add a new key that signs after `delay` seconds, by the database's clock."""
        private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        key = SigningKey.from_private_key(private, Now() + timedelta(seconds=delay))
        with transaction.atomic():
            key.save()
            key.refresh_from_db()
            audit.record(Kind.KEY_PUBLISHED, subject=key.kid, signs_from=key.signs_from)
        return key

    def make_first(self) -> None:
        """Add a key that signs at once if there is none. Hosts that start together may add one
        each, and soon accept them all."""
        if not self.exists():
            self.publish(0)

    def withdraw(self, *kids: str) -> int:
        """Delete keys, whose tokens every host then refuses; returns their number. If none is left,
        a new key signs at once."""
        with transaction.atomic():
            # All are locked, so that of two withdrawals one sees that none is left.
            found = [key.kid for key in self.select_for_update() if key.kid in kids]
            self.filter(kid__in=found).delete()
            for kid in found:
                audit.record(Kind.KEY_REMOVED, subject=kid)
            self.make_first()
        return len(found)

    def encrypt_anew(self) -> None:
        """Encrypt every key with SECRET_KEY, so that SECRET_KEY_FALLBACKS are no longer needed."""
        for key in self.all():
            if key.private:
                new = fernet_for(PURPOSE).rotate(key.private_key).decode()
                self.filter(kid=key.kid).update(private_key=new)

    def prune_expired(self) -> int:
        """Delete the keys whose last token has expired; returns their number. The allowed clock
        skew counts at both ends."""
        life = max(settings.ACCESS_TOKEN_SECONDS, settings.REFRESH_TOKEN_SECONDS)
        life = min(life, settings.SESSION_MAX_SECONDS) + 2 * settings.JWT_LEEWAY_SECONDS
        begun = self.filter(signs_from__lte=Now() - timedelta(seconds=life + READ_SECONDS))
        able = [key.signs_from for key in begun if key.private]
        return self.filter(signs_from__lt=max(able)).delete()[0] if able else 0


class SigningKey(models.Model):
    """A key that signs tokens from `signs_from` until the next one does, and then only verifies.

    The private key is encrypted.
    """

    kid = models.CharField(max_length=43, primary_key=True)
    public_jwk = models.JSONField(default=dict)
    private_key = models.TextField()
    signs_from = models.DateTimeField()
    state = "unreadable"  # with this SECRET_KEY, unless `keys.cache` has found another state

    objects = SigningKeyManager()

    class Meta:
        ordering = ["signs_from", "kid"]

    def __str__(self) -> str:
        return self.kid

    @classmethod
    def from_private_key(cls, private: rsa.RSAPrivateKey, signs_from: Any = None) -> "SigningKey":
        """A row for the key, not saved. Its `kid` is the key's thumbprint (RFC 7638)."""
        members = RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
        required = {name: members[name] for name in ("e", "kty", "n")}
        digest = hashlib.sha256(json.dumps(required, separators=(",", ":")).encode()).digest()
        kid = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        jwk = required | {"kid": kid, "use": "sig", "alg": "RS256"}
        encoding, form = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8
        der = private.private_bytes(encoding, form, serialization.NoEncryption())
        encrypted = fernet_for(PURPOSE).encrypt(der).decode()
        return cls(kid=kid, public_jwk=jwk, private_key=encrypted, signs_from=signs_from)

    @cached_property
    def public(self) -> rsa.RSAPublicKey:
        key: rsa.RSAPublicKey = jwt.PyJWK(self.public_jwk).key
        return key

    @cached_property
    def private(self) -> rsa.RSAPrivateKey | None:
        """None where neither SECRET_KEY nor a fallback decrypts it. Takes 45 ms."""
        try:
            der = fernet_for(PURPOSE).decrypt(self.private_key)
        except InvalidToken:
            return None
        private = serialization.load_der_private_key(der, password=None)
        return private if isinstance(private, rsa.RSAPrivateKey) else None
