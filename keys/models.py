"""The signing keys: one row each, which every host reads."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cached_property

import jwt
from cryptography.fernet import InvalidToken
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings
from django.db import connection, models, transaction
from jwt.algorithms import RSAAlgorithm

from audit import trail
from audit.models import Kind
from keys.clock import database_now
from keys.derived import fernet

PURPOSE = "signing keys"
READ_SECONDS = 2  # how often each process reads the keys
LOCK = 0x5167_4B65  # of PostgreSQL's advisory locks


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """A transaction that one host at a time is in; on SQLite every transaction that writes is."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        yield


def new_private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_jwk(private: rsa.RSAPrivateKey) -> dict[str, str]:
    """The public key as a JWK (RFC 7517); its `kid` is its thumbprint (RFC 7638)."""
    members = RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
    required = {name: members[name] for name in ("e", "kty", "n")}
    digest = hashlib.sha256(json.dumps(required, separators=(",", ":")).encode()).digest()
    kid = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return required | {"kid": kid, "use": "sig", "alg": "RS256"}


class SigningKeyManager(models.Manager["SigningKey"]):
    def publish(self, delay: float) -> "SigningKey":
        """Add a new key that signs after `delay` seconds."""
        return self.add(new_private_key(), database_now() + timedelta(seconds=delay))

    def add(self, private: rsa.RSAPrivateKey, signs_from: datetime) -> "SigningKey":
        """Add a key, unless it is there or was withdrawn; the row as it is then."""
        new = SigningKey.of(private, signs_from)
        with one_at_a_time():
            known = self.filter(kid=new.kid).exclude(withdrawn_at=None, private_key="").first()
            if known is not None:
                return known
            new.save()
            if self.exclude(pk=new.pk).exists():  # the first is nobody's act
                trail.record(Kind.KEY_PUBLISHED, subject=new.kid, signs_from=signs_from)
        return new

    def make_first(self) -> None:
        """Add a key that signs at once if none can; hosts that start together make one."""
        if not self.exclude(private_key="").exists():
            with one_at_a_time():
                if not self.exclude(private_key="").exists():
                    self.publish(0)

    def withdraw(self, kid: str) -> None:
        """Have every host refuse a key's tokens; DoesNotExist for an unknown or withdrawn one. If
        it was the last key, a new one signs at once."""
        with one_at_a_time():
            key = self.get(kid=kid, withdrawn_at=None)
            key.withdrawn_at, key.private_key = database_now(), ""
            key.save()
            trail.record(Kind.KEY_REMOVED, subject=kid)
            self.make_first()

    def replace_all(self) -> "SigningKey":
        """Withdraw every key for a new one that signs at once."""
        with one_at_a_time():
            new = self.publish(0)
            for key in self.filter(withdrawn_at=None).exclude(pk=new.pk):
                self.withdraw(key.kid)
        return new

    def encrypt_anew(self) -> None:
        """Encrypt every key by SECRET_KEY, so that its fallbacks may go."""
        for kid, old in self.exclude(private_key="").values_list("kid", "private_key"):
            try:
                new = fernet(PURPOSE).rotate(old).decode()
            except InvalidToken:
                continue
            self.filter(kid=kid, private_key=old).update(private_key=new)

    def prune(self) -> int:
        """Delete the keys whose last token has expired; how many."""
        now = database_now()
        expired = [key for key in self.all() if key.expires_at and key.expires_at <= now]
        for key in expired:
            with transaction.atomic():
                trail.record(Kind.KEY_REMOVED, subject=key.kid)
                key.delete()
        return len(expired)


class SigningKey(models.Model):
    """A key that signs tokens from a time on, until the next one does, and then verifies them.

    The private key is encrypted, and empty once the key is withdrawn. A key that 1.0.0 has
    published is empty altogether until `importkeys` brings it.
    """

    kid = models.CharField(max_length=43, primary_key=True)
    public_jwk = models.JSONField(default=dict)
    private_key = models.TextField()
    signs_from = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)

    objects = SigningKeyManager()

    class Meta:
        ordering = ["signs_from", "kid"]

    def __str__(self) -> str:
        return self.kid

    @classmethod
    def of(cls, private: rsa.RSAPrivateKey, signs_from: datetime) -> "SigningKey":
        """A key, not saved."""
        jwk = public_jwk(private)
        encoding, form = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8
        der = private.private_bytes(encoding, form, serialization.NoEncryption())
        encrypted = fernet(PURPOSE).encrypt(der).decode()
        return cls(kid=jwk["kid"], public_jwk=jwk, private_key=encrypted, signs_from=signs_from)

    @cached_property
    def public(self) -> rsa.RSAPublicKey:
        key: rsa.RSAPublicKey = jwt.PyJWK(self.public_jwk).key
        return key

    @cached_property
    def private(self) -> rsa.RSAPrivateKey | None:
        """None where neither SECRET_KEY nor a fallback decrypts it. Takes 45 ms."""
        try:
            der = fernet(PURPOSE).decrypt(self.private_key)
        except InvalidToken:
            return None
        private = serialization.load_der_private_key(der, password=None)
        return private if isinstance(private, rsa.RSAPrivateKey) else None

    @property
    def expires_at(self) -> datetime | None:
        """When its last token expires; None while no later key is there, and for one that is
        withdrawn. The skew that clocks are allowed counts at both ends."""
        later = SigningKey.objects.filter(withdrawn_at=None, signs_from__gt=self.signs_from)
        successor = later.exclude(private_key="").first()
        if successor is None or self.withdrawn_at:
            return None
        life = max(settings.ACCESS_TOKEN_SECONDS, settings.REFRESH_TOKEN_SECONDS)
        life = min(life, settings.SESSION_MAX_SECONDS) + 2 * settings.JWT_LEEWAY_SECONDS
        return successor.signs_from + timedelta(seconds=life + READ_SECONDS)
