"""RSA keys: their JWKs, and their private parts encrypted for the database."""

import base64
import hashlib
import json

from cryptography.fernet import InvalidToken
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from keys.derived import fernet

PURPOSE = "signing keys"


def new_private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_jwk(private: rsa.RSAPrivateKey) -> dict[str, str]:
    """The public key as a JWK (RFC 7517); its `kid` is its thumbprint (RFC 7638)."""
    members = RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
    required = {name: members[name] for name in ("e", "kty", "n")}
    digest = hashlib.sha256(json.dumps(required, separators=(",", ":")).encode()).digest()
    kid = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    return required | {"kid": kid, "use": "sig", "alg": "RS256"}


def encrypt(private: rsa.RSAPrivateKey) -> str:
    """The private key under a key derived from SECRET_KEY."""
    der = private.private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return fernet(PURPOSE).encrypt(der).decode()


def decrypt(encrypted: str) -> rsa.RSAPrivateKey | None:
    """The private key; None where neither SECRET_KEY nor a fallback decrypts it. Takes 45 ms."""
    try:
        der = fernet(PURPOSE).decrypt(encrypted)
    except InvalidToken:
        return None
    private = serialization.load_der_private_key(der, password=None)
    return private if isinstance(private, rsa.RSAPrivateKey) else None
