"""Sealed values: made by this service, handed to a browser, and read back. Nothing is stored."""

import json
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import InvalidToken
from django.core.signing import BadSignature, TimestampSigner

from base.secret_key import fernet_for


class InvalidSeal(Exception):
    """The value is too old, was sealed for another purpose, or is not ours."""


@dataclass(frozen=True)
class Seal:
    """Protects JSON values for one purpose with a key of its own, and dates them.

    `seconds` is how long a value is valid. It is encrypted; where the holder may read it, its
    signature is enough.
    """

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
