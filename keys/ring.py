"""The RSA keys that sign and verify tokens: several at a time, one of them signing.

A key is a PEM file (PKCS 8 or PKCS 1, not encrypted, 2048 bits or longer). Every key verifies. A
file may be named by the time it begins to sign, `20261121T120000Z.pem`, so that a new key can be
published before it is used; other names sign at once. The latest to have begun signs.
"""

import base64
import hashlib
import json
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.core.exceptions import ImproperlyConfigured

from keys.exceptions import SigningKeyMissing

LEAST_BITS = 2048
NAME_FORMAT = "%Y%m%dT%H%M%SZ"


def base64url(number: int) -> str:
    """A positive integer as RFC 7518 §2 writes it (Base64urlUInt)."""
    octets = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def begins_to_sign(name: str) -> float:
    """The time (seconds since the epoch) in a key file's name; 0 for other names."""
    try:
        return datetime.strptime(name, NAME_FORMAT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0


class BadKey(ImproperlyConfigured):
    """Names JWT_KEYS_DIR, what is wrong with it, and an example."""

    def __init__(self, problem: str) -> None:
        example = "JWT_KEYS_DIR=/etc/service/keys"
        super().__init__(f"JWT_KEYS_DIR: {problem}; example: {example}")


@dataclass(frozen=True, eq=False)
class Key:
    """One signing key: `kid` is its thumbprint (RFC 7638), `signs_from` in epoch seconds."""

    private: rsa.RSAPrivateKey
    public: rsa.RSAPublicKey
    kid: str
    signs_from: float
    jwk: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> "Key":
        """Read a PEM file; BadKey for a file that is none."""
        try:
            private = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except (OSError, ValueError, TypeError):
            raise BadKey(f"{path.name} in it is no readable, unencrypted PEM key") from None
        if not isinstance(private, rsa.RSAPrivateKey) or private.key_size < LEAST_BITS:
            raise BadKey(f"{path.name} in it is no RSA key of {LEAST_BITS} bits or more")
        public = private.public_key()
        numbers = public.public_numbers()
        members = {"e": base64url(numbers.e), "kty": "RSA", "n": base64url(numbers.n)}
        digest = hashlib.sha256(json.dumps(members, separators=(",", ":")).encode()).digest()
        kid = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        jwk = members | {"kid": kid, "use": "sig", "alg": "RS256"}
        return cls(private, public, kid, begins_to_sign(path.stem), jwk)


class KeyRing:
    """All keys of a folder, by `kid`. Without one it raises SigningKeyMissing when asked for it."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self.keys = {key.kid: key for key in keys}

    def signing_key(self) -> Key:
        """The latest key whose time to sign has come; before all, the first to come."""
        if not self.keys:
            raise SigningKeyMissing
        now = time.time()
        begun = [key for key in self.keys.values() if key.signs_from <= now]
        if begun:
            return max(begun, key=lambda key: key.signs_from)
        return min(self.keys.values(), key=lambda key: key.signs_from)

    def without(self, kids: Collection[str]) -> "KeyRing":
        """The ring of the other keys: itself where it has none of these."""
        if self.keys.keys().isdisjoint(kids):
            return self
        return KeyRing(key for key in self.keys.values() if key.kid not in kids)

    def jwks(self) -> dict[str, list[dict[str, str]]]:
        """The public keys as a JWK Set (RFC 7517 §5)."""
        if not self.keys:
            raise SigningKeyMissing  # clients would keep an empty set for a while
        return {"keys": [key.jwk for key in self.keys.values()]}


def new_pem() -> bytes:
    """A new RSA key of 2048 bits, as PKCS 8 PEM."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=LEAST_BITS)
    return private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
