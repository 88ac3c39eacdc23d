"""What SECRET_KEY protects: message authentication codes, stored secrets and sealed values, with a
key of its own for each purpose. While SECRET_KEY is being changed, those made with a secret of
SECRET_KEY_FALLBACKS stay valid."""

import base64
import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.core.signing import BadSignature, TimestampSigner
from django.utils.crypto import salted_hmac
from django.utils.encoding import force_bytes


def mac_of(salt: str, text: str, secret: str | None = None) -> bytes:
    """32 bytes of HMAC-SHA256. None means SECRET_KEY."""
    return salted_hmac(salt, text, secret, algorithm="sha256").digest()


def fernet_for(purpose: str) -> MultiFernet:
    """Encrypts with the key that SECRET_KEY gives for the purpose (RFC 5869); decrypts with any
    secret's."""
    keys = [
        HKDF(SHA256(), 32, salt=None, info=purpose.encode()).derive(force_bytes(secret))
        for secret in [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]  # the first encrypts
    ]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])


def encrypt_for_row(row_id: UUID, purpose: str, secret: bytes) -> str:
    """A secret as it is stored, useless in the row of another id."""
    return fernet_for(purpose).encrypt(row_id.bytes + secret).decode()


def decrypt_for_row(
    row_id: UUID, purpose: str, text: str, seconds: int | None = None
) -> bytes | None:
    """The secret; None for that of another row, under a lost key, or older than `seconds`."""
    try:
        plain = fernet_for(purpose).decrypt(text, seconds)
    except (InvalidToken, ValueError):  # ValueError: letters outside ASCII
        return None
    return plain[16:] if plain[:16] == row_id.bytes else None


class InvalidSeal(Exception):
    """The value is too old, was sealed for another purpose, or is not ours."""


@dataclass(frozen=True)
class Seal:
    """Seals JSON values for one purpose, which browsers hand back within `seconds`. They are
    encrypted, or signed alone where the holder may read them."""

    purpose: str
    seconds: int
    is_secret: bool = True

    def seal(self, value: object) -> str:
        if self.is_secret:
            return fernet_for(self.purpose).encrypt(json.dumps(value).encode()).decode()
        return TimestampSigner(salt=self.purpose).sign_object(value)

    def unseal(self, sealed: str) -> Any:
        """The value. Raises InvalidSeal."""
        try:
            if self.is_secret:
                return json.loads(fernet_for(self.purpose).decrypt(sealed, self.seconds))
            signer = TimestampSigner(salt=self.purpose)
            return signer.unsign_object(sealed, max_age=self.seconds)
        except (InvalidToken, BadSignature, ValueError):  # ValueError: letters outside ASCII
            raise InvalidSeal from None
