"""Re-authentication: showing the password and the second factor again for a sensitive call.

Users who have no password here sign in at their company's provider again. A proof says that they
have. It is encrypted with SECRET_KEY, stands in for the password alone, not for the second factor,
and works once, within five minutes.
"""

import secrets

from accounts import providers
from accounts.models import User
from api.openapi import Raises
from api.views import SignedInRequest, ValidatedData
from base.nonces import UsedNonce
from base.sealed import InvalidSeal, Seal
from signin.credentials import Attempt, Policy, check_credentials, check_factor
from signin.devices import device_of
from signin.errors import (
    REAUTHENTICATION_ERRORS,
    FactorError,
    FactorRefused,
    WrongCredentials,
    WrongPassword,
)
from signin.factors.methods import FactorInput
from signin.factors.serializers import ProofSerializer
from throttling.throttles import CredentialThrottle

REAUTHENTICATION_SEAL = Seal("signin.reauthentication", seconds=300)


def bound_to(user: User) -> list[object]:
    """What a proof is valid for: the user, until their sessions or those of the provider end."""
    return [str(user.pk), user.token_version, user.provider_tag]


def seal_reauthentication(user: User) -> str:
    return REAUTHENTICATION_SEAL.seal([*bound_to(user), secrets.token_hex(16)])


def nonce_of_reauthentication(user: User, proof: str) -> str:
    """The nonce of a valid proof, by which it is used up. Raises WrongPassword."""
    try:
        *bound, nonce = REAUTHENTICATION_SEAL.unseal(proof)
    except InvalidSeal:
        raise WrongPassword from None
    if bound != bound_to(user):
        raise WrongPassword
    return str(nonce)


REAUTHENTICATION_REFUSED = Raises(*REAUTHENTICATION_ERRORS)


def check_sealed_reauthentication(
    request: SignedInRequest, provider_proof: str, factor: FactorInput
) -> None:
    """As `check_credentials` for re-authentication, with a proof of the company's provider instead
    of the password. Without the second factor the proof stays usable, for the call that has it."""
    user = request.user
    attempt = Attempt(user.email, device_of(request, user))
    attempt.refuse_if_locked()
    nonce = nonce_of_reauthentication(user, provider_proof)
    check_factor(user, factor, attempt, Policy.REAUTHENTICATION)
    if not UsedNonce.objects.use(nonce):
        raise WrongPassword
    attempt.record_success()


def reauthenticate(
    request: SignedInRequest, serializer: type[ProofSerializer] = ProofSerializer
) -> ValidatedData:
    """Check the caller's password and second factor as for a sign-in, lockout included, or a proof
    of the provider and the factor; returns the rest of the body. Counts the request in the
    credential tier. Raises WrongPassword, FactorRefused or TooManyAttempts."""
    CredentialThrottle().allow_request(request)
    data = dict(serializer().run_validation(request.data))
    password, provider_proof = data.pop("password", ""), data.pop("proof", "")
    factor, email = FactorInput.pop_from(data), request.user.email
    try:
        if provider_proof:
            check_sealed_reauthentication(request, provider_proof, factor)
        else:
            check_credentials(request, email, password, factor, Policy.REAUTHENTICATION)
    except WrongCredentials:
        raise WrongPassword from None
    except FactorError as error:
        raise FactorRefused(error) from None
    return data


def reauthenticate_where_required(request: SignedInRequest) -> None:
    """Ask for re-authentication if the caller's company requires its provider: a session alone
    must not undo that."""
    if providers.rules.is_required_by(request.user.account_id):
        reauthenticate(request)
