"""What SECRET_KEY protects: message authentication codes, stored secrets and sealed values. Each
purpose has its own key. Secrets and values of one of SECRET_KEY_FALLBACKS stay valid."""

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
    """The HMAC-SHA256 of a text, 32 bytes, under a key derived from the salt and the secret, by
    default SECRET_KEY."""
    return salted_hmac(salt, text, secret, algorithm="sha256").digest()


def fernet_for(purpose: str) -> MultiFernet:
    """The cipher of a purpose, with keys derived from SECRET_KEY and its fallbacks (RFC 5869)."""
    keys = [
        HKDF(SHA256(), 32, salt=None, info=purpose.encode()).derive(force_bytes(secret))
        for secret in [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    ]
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])


def encrypt_for_row(row_id: UUID, purpose: str, secret: bytes) -> str:
    """The secret, encrypted for the row with this id. No other id or purpose decrypts it."""
    return fernet_for(purpose).encrypt(row_id.bytes + secret).decode()


def decrypt_for_row(
    row_id: UUID, purpose: str, text: str, seconds: int | None = None
) -> bytes | None:
    """The secret that `encrypt_for_row` encrypted as `text`. None for any other text, such
    as one for another row or purpose, under an unknown SECRET_KEY, or of over `seconds` ago."""
    try:
        plain = fernet_for(purpose).decrypt(text, seconds)
    except (InvalidToken, ValueError):  # ValueError: the text is not ASCII
        return None
    return plain[16:] if plain[:16] == row_id.bytes else None


class InvalidSeal(Exception):
    """The sealed value is too old, of another purpose, or was not sealed by this service."""


@dataclass(frozen=True)
class Seal:
    """Seals JSON values of one purpose: dates and encrypts them, for a browser to hold and hand
    back. With `is_secret=False` they are signed only, and the browser may read them."""

    purpose: str
    seconds: int  # for which a sealed value is valid
    is_secret: bool = True

    def seal(self, value: object) -> str:
        if self.is_secret:
            return fernet_for(self.purpose).encrypt(json.dumps(value).encode()).decode()
        return TimestampSigner(salt=self.purpose).sign_object(value)

    def unseal(self, sealed: str) -> Any:
        """The value that was sealed. Raises InvalidSeal if it was sealed over `seconds` ago, for
        another purpose, under a SECRET_KEY that this host doesn't have, or not by this service."""
        try:
            if self.is_secret:
                return json.loads(fernet_for(self.purpose).decrypt(sealed, self.seconds))
            signer = TimestampSigner(salt=self.purpose)
            return signer.unsign_object(sealed, max_age=self.seconds)
        except (InvalidToken, BadSignature, ValueError):  # ValueError: the text is not ASCII
            raise InvalidSeal from None
