"""Codes of authenticator apps: TOTP (RFC 6238) with SHA-1, six digits and steps of thirty seconds,
which apps commonly support. A step is a number of such periods since 1970."""

import base64
import hmac
import secrets
import time

import segno
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from accounts.models import User
from accounts.validators import PRODUCT_NAME
from base.emails import with_readable_domains
from base.sealed import decrypt_for_row, encrypt_for_row

STEP_SECONDS = 30
STEPS_BACK = 2  # steps before the next one whose codes are also accepted
STEPS_KNOWN_AS_OLD = 20  # steps (ten minutes) for which a code is refused as old, not as wrong
SECRET_BYTES = 20  # RFC 4226 §4 recommends 160 bits
PENDING_SECONDS = 600  # for which an unconfirmed secret is valid
STORED_PURPOSE = "signin.totp stored"  # the purpose for which confirmed secrets are encrypted


def begin_setup(user: User) -> dict[str, str]:
    """The body of TotpResponse with a new secret. Nothing is stored until a code confirms it: the
    `id` contains the secret, encrypted, for PENDING_SECONDS."""
    secret = secrets.token_bytes(SECRET_BYTES)
    uri = code_generator(secret).get_provisioning_uri(
        with_readable_domains(user.email), PRODUCT_NAME
    )
    uri = uri.replace("+", "%20")  # apps decode URIs, not forms, and would show the plus sign
    return {
        "id": encrypt_for_row(user.pk, pending_purpose(user), secret),
        "secret": base64.b32encode(secret).decode(),
        "uri": uri,
        "qr": segno.make(uri, error="m").svg_inline(scale=4, omitsize=True),
    }


def pending_secret(user: User, setup_id: str) -> bytes | None:
    """The secret in an `id` of `begin_setup`. None if the `id` is older than PENDING_SECONDS or was
    made for another user, if the user's sessions have ended since, and for any other text."""
    return decrypt_for_row(user.pk, pending_purpose(user), setup_id, PENDING_SECONDS)


def pending_purpose(user: User) -> str:
    """The purpose for which an unconfirmed secret is encrypted. The first factor ends the sessions,
    and with them the secrets that were made for the password alone."""
    return f"signin.totp pending {user.token_version}"


def code_generator(secret: bytes) -> TOTP:
    return TOTP(secret, 6, SHA1(), STEP_SECONDS)  # noqa: S303  (HMAC, as apps support it)


def latest_step() -> int:
    """The latest step whose code is accepted: the one after the current step, as clocks differ."""
    return int(time.time()) // STEP_SECONDS + 1


def find_step(secret: bytes, code: str, back: int = STEPS_BACK) -> int | None:
    """The step that has this code (without separators), among `latest_step()` and `back` steps
    before that. None if no step has the code, the latest if several have it. All are always
    compared, so that the time tells nothing."""
    generator, latest = code_generator(secret), latest_step()
    matching_steps = [
        step
        for step in range(latest, latest - back - 1, -1)
        if hmac.compare_digest(generator.generate(step * STEP_SECONDS), code.encode())
    ]
    return matching_steps[0] if matching_steps else None
