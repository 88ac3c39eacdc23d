"""Challenges that passkeys sign (WebAuthn Level 3, §13.4.3): signed by us, so that asking for one
costs no row, and good for five minutes. That each is good once is `UsedChallenge`'s."""

import hmac
import secrets
import struct
import time
from dataclasses import dataclass

from keys.derived import derived_keys
from signin.errors import WrongPasskey

LIFE = 300  # seconds
SIGN_IN = "sign in"
FORM = struct.Struct(">16s16sQ")  # what is signed; 32 octets of HMAC-SHA256 follow


@dataclass(frozen=True)
class Challenge:
    """One that we have made. `handle` is the user handle that a new passkey is made with; in one
    to sign in with it says nothing."""

    nonce: bytes
    handle: bytes
    made_at: int  # epoch seconds


def new_challenge(purpose: str, handle: bytes | None = None) -> bytes:
    signed = FORM.pack(secrets.token_bytes(16), handle or bytes(16), int(time.time()))
    return signed + macs(purpose, signed)[0]


def read_challenge(challenge: bytes, *purposes: str) -> Challenge:
    """Raises WrongPasskey for one that is too old, was made for nothing of this, or not by us."""
    signed, mac = challenge[: FORM.size], challenge[FORM.size :]
    if len(signed) != FORM.size:
        raise WrongPasskey
    made = [one for purpose in purposes for one in macs(purpose, signed)]
    good = [hmac.compare_digest(mac, one) for one in made]
    nonce, handle, made_at = FORM.unpack(signed)
    # Of another host the clock may be ahead, within what `UsedChallenge.prune` allows for.
    if not any(good) or abs(time.time() - made_at) >= LIFE:
        raise WrongPasskey
    return Challenge(nonce, handle, made_at)


def macs(purpose: str, signed: bytes) -> list[bytes]:
    keys = derived_keys(f"signin.challenge {purpose}")
    return [hmac.digest(key, signed, "sha256") for key in keys]
