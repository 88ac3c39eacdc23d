"""Challenges for passkeys to sign (WebAuthn Level 3, §13.4.3). They carry a MAC of ours, so that
asking for one stores nothing, and live for five minutes. `UsedChallenge` makes them single-use."""

import hmac
import secrets
import struct
import time
from dataclasses import dataclass

from keys.derived import derived_keys
from signin.errors import WrongPasskey

LIFE = 300  # seconds
SIGN_IN = "sign in"
FORM = struct.Struct(">16s16sQ")  # nonce, handle, time; followed by 32 octets of HMAC-SHA256


@dataclass(frozen=True)
class Challenge:
    """`handle` is the user handle for a new passkey, and zeros in a challenge to sign in."""

    nonce: bytes
    handle: bytes
    made_at: int  # epoch seconds


def new_challenge(purpose: str, handle: bytes | None = None) -> bytes:
    signed = FORM.pack(secrets.token_bytes(16), handle or bytes(16), int(time.time()))
    return signed + macs(purpose, signed)[0]


def read_challenge(challenge: bytes, *purposes: str) -> Challenge:
    """Raises WrongPasskey for one that is too old, for another purpose, or not ours."""
    signed, mac = challenge[: FORM.size], challenge[FORM.size :]
    if len(signed) != FORM.size:
        raise WrongPasskey
    made = [one for purpose in purposes for one in macs(purpose, signed)]
    good = [hmac.compare_digest(mac, one) for one in made]
    nonce, handle, made_at = FORM.unpack(signed)
    # Another host's clock may be ahead; `UsedChallenge.prune` allows for that.
    if not any(good) or abs(time.time() - made_at) >= LIFE:
        raise WrongPasskey
    return Challenge(nonce, handle, made_at)


def macs(purpose: str, signed: bytes) -> list[bytes]:
    keys = derived_keys(f"signin.challenge {purpose}")
    return [hmac.digest(key, signed, "sha256") for key in keys]
