"""Challenges that passkeys sign (WebAuthn Level 3, §13.4.3). A challenge is signed with SECRET_KEY
instead of being stored; whoever accepts one makes it single-use by its nonce (`UsedNonce`)."""

import secrets
import time
from typing import NamedTuple

from django.core.signing import Signer
from fido2.webauthn import CollectedClientData

from accounts.models import User
from signin.errors import WrongPasskey

CHALLENGE_SECONDS = 300  # for which a challenge is valid
SIGN_IN = "sign in"  # a purpose; `adding_purpose` has the other one


class Challenge(NamedTuple):
    nonce: str
    handle: str  # the user handle of the new passkey, in hexadecimal; "" for a sign-in
    made_at: int  # epoch seconds


def new_challenge(purpose: str, handle: bytes = b"") -> bytes:
    challenge = Challenge(secrets.token_hex(16), handle.hex(), int(time.time()))
    return challenge_signer(purpose).sign_object(challenge).encode()


def read_challenge(client_data: CollectedClientData, purpose: str) -> Challenge:
    """The challenge that a browser returned. Raises WrongPasskey for one that has expired or was
    answered in a frame on another site, BadSignature or ValueError for one that was not made here
    for this purpose."""
    challenge = Challenge(*challenge_signer(purpose).unsign_object(client_data.challenge.decode()))
    # Another host's clock may be ahead; `UsedNonce.prune_expired` allows for that.
    if abs(time.time() - challenge.made_at) >= CHALLENGE_SECONDS or client_data.cross_origin:
        raise WrongPasskey
    return challenge


def adding_purpose(user: User) -> str:
    """The purpose of a challenge for a new passkey. It changes when the user's sessions end, as
    they do with the first factor, so that a challenge got by password alone is then invalid."""
    return f"add to {user.pk}:{user.token_version}"


def challenge_signer(purpose: str) -> Signer:
    return Signer(salt=f"signin.challenge {purpose}")
