"""Message authentication codes under SECRET_KEY. While that is being changed, codes made with a
secret of SECRET_KEY_FALLBACKS stay valid."""

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac


def secrets_to_try() -> list[str]:
    """SECRET_KEY, which makes what is new, and those that what is older may be made with."""
    return [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]


def mac(salt: str, text: str, secret: str | None = None) -> bytes:
    """32 octets of HMAC-SHA256; each salt has keys of its own, and `None` stands for SECRET_KEY."""
    return salted_hmac(salt, text, secret, algorithm="sha256").digest()


def is_mac(given: bytes, salt: str, text: str) -> bool:
    """Whether this is the text's MAC under any of the secrets."""
    macs = (mac(salt, text, secret) for secret in secrets_to_try())
    return any(constant_time_compare(given, made) for made in macs)
