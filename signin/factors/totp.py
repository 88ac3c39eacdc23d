"""TOTP (RFC 6238) with SHA-1, six digits and thirty seconds, as every authenticator app
supports."""

import base64
import hmac
import secrets
import time

import segno
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from accounts.models import User
from base.sealed import decrypt_for_row, encrypt_for_row

STEP_SECONDS = 30
STEPS_BACK = 2  # from the next step to the previous one
STEPS_KNOWN_AS_OLD = 20  # ten minutes
SECRET_BYTES = 20  # RFC 4226 §4 recommends 160 bits
PENDING_SECONDS = 600  # for which an `id` of `begin_setup` is valid
ISSUER = "Consulting management"
STORED_PURPOSE = "signin.totp stored"  # the purpose for which confirmed secrets are encrypted


def begin_setup(user: User) -> dict[str, str]:
    """A new secret, and an `id` that contains it, encrypted, for ten minutes. Nothing is stored
    until a code confirms it."""
    secret = secrets.token_bytes(SECRET_BYTES)
    uri = code_generator(secret).get_provisioning_uri(user.email, ISSUER)
    uri = uri.replace("+", "%20")  # apps decode URIs, not forms, and would show the plus sign
    return {
        "id": encrypt_for_row(user.pk, pending_purpose(user), secret),
        "secret": base64.b32encode(secret).decode(),
        "uri": uri,
        "qr": segno.make(uri, error="m").svg_inline(scale=4, omitsize=True),
    }


def pending_secret(user: User, pending: str) -> bytes | None:
    """The secret in an `id` that `begin_setup` made for the user less than ten minutes ago."""
    return decrypt_for_row(user.pk, pending_purpose(user), pending, PENDING_SECONDS)


def pending_purpose(user: User) -> str:
    """The purpose for which an unconfirmed secret is encrypted. It becomes invalid with the user's
    sessions: a secret that took only the password does so once the user has a factor."""
    return f"signin.totp pending {user.token_version}"


def code_generator(secret: bytes) -> TOTP:
    return TOTP(secret, 6, SHA1(), STEP_SECONDS)  # noqa: S303  (HMAC, as apps support it)


def latest_step() -> int:
    """The latest step whose code is accepted now. Hosts keep the time by NTP."""
    return int(time.time()) // STEP_SECONDS + 1


def find_step(secret: bytes, code: str, back: int = STEPS_BACK) -> int | None:
    """The step of a code: the current, previous or next one, since clocks differ. None for a wrong
    code, the latest if two have the same. All of them are always compared."""
    last, generator = latest_step(), code_generator(secret)
    steps = range(last, last - back - 1, -1)
    right = [
        hmac.compare_digest(generator.generate(s * STEP_SECONDS), code.encode()) for s in steps
    ]
    return next((step for step, good in zip(steps, right, strict=True) if good), None)
