"""Message authentication codes under SECRET_KEY, and signed values that are sent to clients.

While SECRET_KEY is being changed, what hosts with another one have made still holds: every secret
of SECRET_KEY_FALLBACKS is tried beside it, and always all of them, so that the time an answer takes
tells nobody which it was.
"""

from django.conf import settings
from django.core import signing
from django.utils.crypto import constant_time_compare, salted_hmac


def secrets_to_try() -> list[str]:
    """SECRET_KEY, which makes what is new, and those that what is older may be made with."""
    return [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]


def mac(salt: str, text: str, secret: str | None = None) -> bytes:
    """32 octets of HMAC-SHA256; each salt has keys of its own, and `None` stands for SECRET_KEY."""
    return salted_hmac(salt, text, secret, algorithm="sha256").digest()


def is_mac(given: bytes, salt: str, text: str) -> bool:
    """Whether this is the text's MAC under any of the secrets."""
    macs = [mac(salt, text, secret) for secret in secrets_to_try()]
    return any([constant_time_compare(given, made) for made in macs])  # noqa: C419


class Signer(signing.Signer):
    """Django's, but it always tries all secrets."""

    def unsign(self, signed_value: str) -> str:
        value, separator, signature = signed_value.rpartition(self.sep)
        keys = [self.key, *self.fallback_keys]
        fits = [constant_time_compare(signature, self.signature(value, key)) for key in keys]
        if not separator or not any(fits):
            raise signing.BadSignature("no signature of ours")
        return value


class TimestampSigner(signing.TimestampSigner, Signer):
    """The same for values that expire."""
