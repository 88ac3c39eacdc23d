"""Re-authentication at the company's provider, for users who have no password here.

A proof says that a user has just signed in there again. It is encrypted with SECRET_KEY, stands in
for the password alone, not for the second factor, and works once, within PROOF_SECONDS.
"""

import json
import secrets

from cryptography.fernet import InvalidToken

from accounts.models import User
from base.secret_key import fernet_for
from signin.errors import WrongPassword

PROOF_PURPOSE = "signin.reauthentication"
PROOF_SECONDS = 300  # seconds that a proof is valid for


def bound_to(user: User) -> list[object]:
    """What a proof is valid for: the user, until their sessions or those of the provider end."""
    return [str(user.pk), user.token_version, user.provider_tag]


def make_proof(user: User) -> str:
    content = json.dumps([*bound_to(user), secrets.token_hex(16)])
    return fernet_for(PROOF_PURPOSE).encrypt(content.encode()).decode()


def nonce_of_proof(user: User, proof: str) -> str:
    """The nonce of a valid proof, by which it is used up. Raises WrongPassword."""
    try:
        content = fernet_for(PROOF_PURPOSE).decrypt(proof.encode(), PROOF_SECONDS)
    except InvalidToken:
        raise WrongPassword from None
    *bound, nonce = json.loads(content)
    if bound != bound_to(user):
        raise WrongPassword
    return str(nonce)
