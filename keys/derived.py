"""Keys that are derived from SECRET_KEY, each for one purpose."""

import base64

from cryptography.fernet import Fernet, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.utils.encoding import force_bytes

from audit.message_auth import secrets_to_try


def fernet(purpose: str) -> MultiFernet:
    """Encrypts by SECRET_KEY's key for a purpose (RFC 5869), and decrypts also by the keys of
    SECRET_KEY_FALLBACKS."""
    keys = [
        HKDF(SHA256(), 32, salt=None, info=purpose.encode()).derive(force_bytes(secret))
        for secret in secrets_to_try()
    ]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])
