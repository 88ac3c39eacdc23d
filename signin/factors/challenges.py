"""Challenges for passkeys to sign (WebAuthn Level 3, §13.4.3). The service signs them itself, so
that none is stored. They are valid for five minutes; `UsedNonce` makes them single-use."""

import secrets
import time
from dataclasses import dataclass

from django.core.signing import Signer
from fido2.webauthn import CollectedClientData

from signin.errors import WrongPasskey

CHALLENGE_SECONDS = 300  # that a challenge is valid for
SIGN_IN = "sign in"


@dataclass(frozen=True)
class Challenge:
    """`handle` is the user handle for a new passkey, in hexadecimal, and "" to sign in."""

    nonce: str
    handle: str
    made_at: int  # epoch seconds


def new_challenge(purpose: str, handle: bytes = b"") -> bytes:
    content = [secrets.token_hex(16), handle.hex(), int(time.time())]
    return challenge_signer(purpose).sign_object(content).encode()


def read_challenge(answered: CollectedClientData, purpose: str) -> Challenge:
    """Raises WrongPasskey for one that is too old or was answered in a frame on another site,
    BadSignature or ValueError for one that is for another purpose or not ours."""
    made = Challenge(*challenge_signer(purpose).unsign_object(answered.challenge.decode()))
    # Another host's clock may be ahead; `UsedNonce.prune_expired` allows for that.
    if abs(time.time() - made.made_at) >= CHALLENGE_SECONDS or answered.cross_origin:
        raise WrongPasskey
    return made


def challenge_signer(purpose: str) -> Signer:
    return Signer(salt=f"signin.challenge {purpose}")
