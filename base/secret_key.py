"""Message authentication codes and encryption with SECRET_KEY. While it is being changed, those
made with a secret of SECRET_KEY_FALLBACKS stay valid."""

import base64

from cryptography.fernet import Fernet, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.crypto import salted_hmac
from django.utils.encoding import force_bytes


def mac_of(salt: str, text: str, secret: str | None = None) -> bytes:
    """32 bytes of HMAC-SHA256, with a key of its own for each salt. None means SECRET_KEY."""
    return salted_hmac(salt, text, secret, algorithm="sha256").digest()


def fernet_for(purpose: str) -> MultiFernet:
    """Encrypts with a key of its own for each purpose (RFC 5869); decrypts with any secret's."""
    keys = [
        HKDF(SHA256(), 32, salt=None, info=purpose.encode()).derive(force_bytes(secret))
        for secret in [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]  # the first encrypts
    ]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])
