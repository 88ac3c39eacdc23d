"""Re-authentication: showing the password and the second factor again for a sensitive call.

Users who have no password here sign in at their company's provider again. A proof says that they
have. It is encrypted with SECRET_KEY, stands in for the password alone, not for the second factor,
and works once, within five minutes.
"""

import secrets

from accounts import providers
from accounts.models import User
from api.openapi import Raises
from api.views import Data, SignedInRequest
from base.nonces import UsedNonce
from base.sealed import InvalidSeal, Seal
from signin.credentials import Attempt, Policy, check_credentials, check_factor
from signin.devices import device_of
from signin.errors import (
    PROOF_ERRORS,
    FactorNeeded,
    ProofRefused,
    WrongCredentials,
    WrongPassword,
)
from signin.factors.proof import Proof
from signin.factors.serializers import ProofSerializer
from throttling.throttles import CredentialThrottle

PROOF_SEAL = Seal("signin.reauthentication", seconds=300)


def bound_to(user: User) -> list[object]:
    """What a proof is valid for: the user, until their sessions or those of the provider end."""
    return [str(user.pk), user.token_version, user.provider_tag]


def make_proof(user: User) -> str:
    return PROOF_SEAL.seal([*bound_to(user), secrets.token_hex(16)])


def nonce_of_proof(user: User, proof: str) -> str:
    """The nonce of a valid proof, by which it is used up. Raises WrongPassword."""
    try:
        *bound, nonce = PROOF_SEAL.unseal(proof)
    except InvalidSeal:
        raise WrongPassword from None
    if bound != bound_to(user):
        raise WrongPassword
    return str(nonce)


PROOF_NEEDED = Raises(*PROOF_ERRORS)


def check_proof(request: SignedInRequest, provider_proof: str, factor: Proof) -> None:
    """As `check_credentials` for re-authentication, with a proof of the company's provider instead
    of the password. Without the second factor the proof stays usable, for the call that has it."""
    user = request.user
    attempt = Attempt(user.email, device_of(request, user))
    attempt.refuse_if_locked()
    nonce = nonce_of_proof(user, provider_proof)
    check_factor(user, factor, attempt, Policy.REAUTHENTICATION)
    if not UsedNonce.objects.use(nonce):
        raise WrongPassword
    attempt.succeeded()


def reauthenticate(
    request: SignedInRequest, serializer: type[ProofSerializer] = ProofSerializer
) -> Data:
    """Check the caller's password and second factor as for a sign-in, lockout included, or a proof
    of the provider and the factor; returns the rest of the body. Counts the request in the
    credential tier. Raises WrongPassword, ProofRefused or TooManyAttempts."""
    CredentialThrottle().allow_request(request)
    data = dict(serializer().run_validation(request.data))
    password, provider_proof = data.pop("password", ""), data.pop("proof", "")
    factor, email = Proof.pop_from(data), request.user.email
    try:
        if provider_proof:
            check_proof(request, provider_proof, factor)
        else:
            check_credentials(request, email, password, factor, Policy.REAUTHENTICATION)
    except WrongCredentials:
        raise WrongPassword from None
    except FactorNeeded as error:
        raise ProofRefused(error) from None
    return data


def reauthenticate_where_required(request: SignedInRequest) -> None:
    """Ask for re-authentication if the caller's company requires its provider: a session alone
    must not undo that."""
    if providers.rules.is_required_by(request.user.account_id):
        reauthenticate(request)
