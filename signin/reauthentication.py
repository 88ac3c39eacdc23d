"""Re-authentication: entering the password and the second factor again for a sensitive call.

Users without a password sign in at their company's provider again instead. They get a sealed
re-authentication, the API's `proof`: a value that stands in for the password, though not for the
second factor, and works once, within five minutes.
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
    FactorError,
    FactorRefused,
    SecondFactorRequired,
    WrongCode,
    WrongCredentials,
    WrongPassword,
)
from signin.factors.methods import FactorInput
from signin.factors.serializers import ProofSerializer
from throttling.throttles import CredentialThrottle

REAUTHENTICATION_SEAL = Seal("signin.reauthentication", seconds=300)
# The 403 in a call's schema. The schema adds that of IsAdmin by itself.
REAUTHENTICATION_REFUSED = Raises(WrongPassword, SecondFactorRequired, WrongCode)


def bound_to(user: User) -> list[object]:
    """What a sealed re-authentication is bound to, as JSON values. It ends with the user's
    sessions, and with those that began at the company's provider."""
    return [str(user.pk), user.token_version, user.provider_tag]


def seal_reauthentication(user: User) -> str:
    """A sealed re-authentication, valid for five minutes and once, for a user who has just signed
    in at the company's provider again."""
    return REAUTHENTICATION_SEAL.seal([*bound_to(user), secrets.token_hex(16)])


def check_sealed_reauthentication(
    request: SignedInRequest, sealed: str, factor: FactorInput
) -> None:
    """Check and use up a sealed re-authentication and the second factor of the request's user. Call
    it outside transactions, which would undo the record of a failed attempt.

    Raises TooManyAttempts while the address is locked for the device, and WrongPassword, which is
    no failed attempt, if the sealed value is invalid, expired, used or another user's. Raises
    SecondFactorRequired or WrongCode for a missing or wrong factor; then the sealed value can still
    be used."""
    user = request.user
    attempt = Attempt(user.email, device_of(request, user))
    attempt.refuse_if_locked()
    try:
        *bound, nonce = REAUTHENTICATION_SEAL.unseal(sealed)
    except InvalidSeal:
        raise WrongPassword from None
    if bound != bound_to(user):
        raise WrongPassword
    check_factor(user, factor, attempt)
    if not UsedNonce.objects.use(nonce):
        raise WrongPassword
    attempt.record_success()


def reauthenticate(
    request: SignedInRequest, serializer: type[ProofSerializer] = ProofSerializer
) -> ValidatedData:
    """Check the password, or the sealed proof of a re-authentication at the provider, and the
    second factor, in the body that `serializer` validates. Returns the body's remaining fields.

    Counts the request in the credential tier, unless it was counted there already, and failures
    towards the lockout, as a sign-in does. Call it outside a transaction. Raises TooManyAttempts
    beyond the tier's limit or while the address is locked, UnsupportedMediaType, ParseError or
    ValidationError for an invalid body, TooManyHashes if no slot to hash is free in time,
    WrongPassword for a wrong password or an invalid proof, and FactorRefused for a missing or wrong
    factor."""
    CredentialThrottle().allow_request(request)
    fields = dict(serializer().run_validation(request.data))
    password, sealed = fields.pop("password", ""), fields.pop("proof", "")
    factor = {name: fields.pop(name) for name in ("code", "passkey") if name in fields}
    email = request.user.email
    try:
        if sealed:
            check_sealed_reauthentication(request, sealed, FactorInput(**factor))
        else:
            check_credentials(request, email, password, Policy.REAUTHENTICATION, **factor)
    except WrongCredentials:
        raise WrongPassword from None
    except FactorError as error:
        raise FactorRefused(error) from None
    return fields


def reauthenticate_where_required(request: SignedInRequest) -> None:
    """Re-authenticate the request's user if their company requires its provider, else do nothing: a
    session alone must not let users escape the provider."""
    if providers.rules.is_required_by(request.user.account_id):
        reauthenticate(request)
