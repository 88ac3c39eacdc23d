"""The signing keys: one row each, which every host reads."""

import base64
import hashlib
import json
from datetime import datetime, timedelta
from functools import cached_property

import jwt
from cryptography.fernet import InvalidToken
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.db import models, transaction
from django.db.models.expressions import Combinable
from django.db.models.functions import Now
from jwt.algorithms import RSAAlgorithm

import audit
from audit.models import Kind
from base.sealed import fernet_for

SIGNING_KEYS_PURPOSE = "signing keys"  # for which SECRET_KEY derives a key
READ_KEYS_SECONDS = 2  # seconds between two readings of the keys by a process


class SigningKeyManager(models.Manager["SigningKey"]):
    def publish(self, delay: float) -> "SigningKey":
        """Create, record and return a further key, which signs after `delay` seconds by the
        database's clock, or sooner if no other key can sign. Pass enough for every host to read the
        key meanwhile; 0 is for the first key."""
        private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        key = SigningKey.from_private_key(private, Now() + timedelta(seconds=delay))
        with transaction.atomic():
            key.save()
            key.refresh_from_db()  # `signs_from` is an expression until then
            audit.record(Kind.KEY_PUBLISHED, subject=key.kid, signs_from=key.signs_from)
        return key

    def make_first(self) -> None:
        """Add a key that signs at once, if there is none. Hosts that start together may add one key
        each; within seconds each host accepts them all."""
        if not self.exists():
            self.publish(0)

    def withdraw(self, *kids: str) -> int:
        """Delete these keys, and record each. Returns how many of the `kids` existed. Within three
        seconds every host that reaches the database refuses tokens that the keys signed. If no key
        is left, a new one is made, which signs at once."""
        with transaction.atomic():
            # Every key is locked, so that the later of two withdrawals sees that none is left.
            withdrawn = [key.kid for key in self.select_for_update() if key.kid in kids]
            self.filter(kid__in=withdrawn).delete()
            for kid in withdrawn:
                audit.record(Kind.KEY_REMOVED, subject=kid)
            self.make_first()
        return len(withdrawn)

    def encrypt_anew(self) -> None:
        """Encrypt with SECRET_KEY every key that it or one of SECRET_KEY_FALLBACKS decrypts."""
        for key in self.all():
            if key.private:
                encrypted = fernet_for(SIGNING_KEYS_PURPOSE).rotate(key.private_key).decode()
                self.filter(kid=key.kid).update(private_key=encrypted)

    def prune_expired(self) -> int:
        """Delete the keys whose last token has expired; returns their number. A key stops signing
        when a newer one that can be decrypted begins to sign, and each process READ_KEYS_SECONDS
        later at most; its last token expires one token life after that, by clocks that may each
        differ by JWT_LEEWAY_SECONDS."""
        seconds = max(settings.ACCESS_TOKEN_SECONDS, settings.REFRESH_TOKEN_SECONDS)
        seconds = min(seconds, settings.SESSION_MAX_SECONDS) + 2 * settings.JWT_LEEWAY_SECONDS
        long_ago = Now() - timedelta(seconds=seconds + READ_KEYS_SECONDS)
        successors = [key for key in self.filter(signs_from__lte=long_ago) if key.private]
        if not successors:
            return 0
        newest = max(key.signs_from for key in successors)
        return self.filter(signs_from__lt=newest).delete()[0]


class SigningKey(models.Model):
    """A key pair of RS256. It signs tokens from `signs_from` until the next key that can be
    decrypted begins to sign, and then only verifies them. The private key is stored encrypted."""

    kid = models.CharField(max_length=43, primary_key=True)
    public_jwk = models.JSONField(default=dict)
    private_key = models.TextField()
    signs_from = models.DateTimeField()
    state = "unreadable"  # of a key that can be decrypted: waiting, signing or verifying

    objects = SigningKeyManager()

    class Meta:
        ordering = ["signs_from", "kid"]

    def __str__(self) -> str:
        return self.kid

    @classmethod
    def from_private_key(
        cls, private: rsa.RSAPrivateKey, signs_from: datetime | Combinable
    ) -> "SigningKey":
        """An unsaved row for the key, encrypted with SECRET_KEY. `kid` is its thumbprint (RFC
        7638); `signs_from` is a time or a database expression for one."""
        members = RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
        required = {name: members[name] for name in ("e", "kty", "n")}
        digest = hashlib.sha256(json.dumps(required, separators=(",", ":")).encode()).digest()
        kid = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        jwk = required | {"kid": kid, "use": "sig", "alg": "RS256"}
        encoding, form = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8
        der = private.private_bytes(encoding, form, serialization.NoEncryption())
        encrypted = fernet_for(SIGNING_KEYS_PURPOSE).encrypt(der).decode()
        return cls(kid=kid, public_jwk=jwk, private_key=encrypted, signs_from=signs_from)

    @cached_property
    def public(self) -> rsa.RSAPublicKey:
        key: rsa.RSAPublicKey = jwt.PyJWK(self.public_jwk).key
        return key

    @cached_property
    def private(self) -> rsa.RSAPrivateKey | None:
        """The private key; None if neither SECRET_KEY nor a fallback decrypts it. The first access
        takes 45 ms."""
        try:
            der = fernet_for(SIGNING_KEYS_PURPOSE).decrypt(self.private_key)
        except InvalidToken:
            return None
        private = serialization.load_der_private_key(der, password=None)
        return private if isinstance(private, rsa.RSAPrivateKey) else None
