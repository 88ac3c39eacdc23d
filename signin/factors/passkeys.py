"""Passkeys (WebAuthn Level 3) with python-fido2. It ignores sign counts, as synced passkeys
require. Attestation is not requested.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from fido2.server import Fido2Server
from fido2.utils import websafe_encode
from fido2.webauthn import (
    AttestationConveyancePreference,
    AttestedCredentialData,
    AuthenticationResponse,
    AuthenticatorData,
    PublicKeyCredentialParameters,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialType,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from accounts.models import User
from accounts.tokens import find_session_user
from base.nonces import UsedNonce
from signin.errors import WrongPasskey
from signin.factors.challenges import CHALLENGE_SECONDS, SIGN_IN, new_challenge, read_challenge
from signin.factors.models import Passkey

NAME = "Consulting management"
COSE_ALGORITHMS = [-8, -7, -257]  # EdDSA, ES256, RS256: every authenticator knows one
MAX_CREDENTIAL_ID_BYTES = 1023  # WebAuthn level 3, §4, Credential ID
REQUIRED = UserVerificationRequirement.REQUIRED


def fido_server() -> Fido2Server:
    rp = PublicKeyCredentialRpEntity(name=NAME, id=settings.PASSKEYS_RP_ID)
    none = AttestationConveyancePreference.NONE
    made = Fido2Server(rp, none, verify_origin=settings.PASSKEYS_ORIGINS.__contains__)
    made.timeout = CHALLENGE_SECONDS * 1000  # type: ignore[assignment]
    made.allowed_algorithms = [
        PublicKeyCredentialParameters(type=PublicKeyCredentialType.PUBLIC_KEY, alg=number)
        for number in COSE_ALGORITHMS
    ]
    return made


def request_options() -> dict[str, object]:
    """PublicKeyCredentialRequestOptionsJSON, the same for every user except for the challenge."""
    challenge = new_challenge(SIGN_IN)
    options, _ = fido_server().authenticate_begin(user_verification=REQUIRED, challenge=challenge)
    return dict(options)


def creation_options(user: User) -> dict[str, object]:
    """PublicKeyCredentialCreationOptionsJSON for one more passkey of the user.

    The user handle is random. All passkeys of a user share it, so that a password manager keeps
    them together.
    """
    passkeys = list(Passkey.objects.filter(factors=user.pk))
    handle = bytes(passkeys[0].handle) if passkeys else secrets.token_bytes(16)
    known = [AttestedCredentialData(bytes(passkey.credential)) for passkey in passkeys]
    options, _ = fido_server().register_begin(
        PublicKeyCredentialUserEntity(
            id=handle, name=user.email, display_name=user.get_full_name() or user.email
        ),
        known,
        resident_key_requirement=ResidentKeyRequirement.REQUIRED,
        user_verification=REQUIRED,
        challenge=new_challenge(to_add(user), handle),
    )
    return dict(options)


def to_add(user: User) -> str:
    """The purpose of a challenge to add a passkey. It becomes invalid with the user's sessions: a
    challenge that took only the password does so once the user has a factor."""
    return f"add to {user.pk}:{user.token_version}"


@contextmanager
def refuse_any_error() -> Iterator[None]:
    """WrongPasskey for any error in the block: input from outside is parsed there, and fails by a
    dozen kinds of errors, RecursionError included."""
    try:
        yield
    except Exception:
        raise WrongPasskey from None


def check_backup_flags(data: AuthenticatorData) -> None:
    """Raise WrongPasskey for one that is backed up but not eligible for it (WebAuthn level 3, §7.1
    and §7.2), which python-fido2 accepts."""
    if data.is_backed_up() and not data.is_backup_eligible():
        raise WrongPasskey


def new_passkey(user: User, response: Any) -> dict[str, object]:
    """The fields of a new passkey from a RegistrationResponseJSON; uses the challenge up. Raises
    WrongPasskey."""
    with refuse_any_error():
        answer = RegistrationResponse.from_dict(response)
        client_data = answer.response.client_data
        challenge = read_challenge(client_data, to_add(user))
        _, state = fido_server().register_begin(
            PublicKeyCredentialUserEntity(id=bytes.fromhex(challenge.handle)),
            user_verification=REQUIRED,
            challenge=client_data.challenge,
        )
        data = fido_server().register_complete(state, answer)
        check_backup_flags(data)
        made = data.credential_data
        if (
            made is None
            or made.public_key[3] not in COSE_ALGORITHMS
            or len(made.credential_id) > MAX_CREDENTIAL_ID_BYTES
        ):
            raise WrongPasskey
    if not UsedNonce.objects.use(challenge.nonce):
        raise WrongPasskey
    return {
        "credential_id": websafe_encode(made.credential_id),
        "credential": bytes(made),
        "handle": bytes.fromhex(challenge.handle),
        "sign_count": data.counter,
    }


def use_passkey(response: Any, user: User | None = None) -> Passkey:
    """The passkey, of this user or any, that made this AuthenticationResponseJSON. Uses the
    challenge up and records the use. Raises WrongPasskey."""
    with refuse_any_error():
        answer = AuthenticationResponse.from_dict(response)
    passkeys = Passkey.objects.select_related("factors__user")
    passkey = passkeys.filter(credential_id=answer.id[:1400]).first()
    if passkey is None or (user is not None and passkey.factors_id != user.pk):
        raise WrongPasskey
    with refuse_any_error():
        challenge = read_challenge(answer.response.client_data, SIGN_IN)
        _, state = fido_server().authenticate_begin(
            user_verification=REQUIRED, challenge=answer.response.client_data.challenge
        )
        known = AttestedCredentialData(bytes(passkey.credential))
        fido_server().authenticate_complete(state, [known], answer)
        check_backup_flags(answer.response.authenticator_data)
        handle = answer.response.user_handle
        if handle != bytes(passkey.handle) and (user is None or handle is not None):
            raise WrongPasskey
    if not UsedNonce.objects.use(challenge.nonce):
        raise WrongPasskey
    passkey.use(answer.response.authenticator_data.counter)
    return passkey


def find_by_passkey(response: Any) -> User:
    """The active user who signs in with the passkey that made this AuthenticationResponseJSON, here
    and not at a company's provider. Raises WrongPasskey, as `use_passkey`."""
    owner = use_passkey(response).factors.user
    user = find_session_user(owner.pk, owner.token_version)
    if user is None:  # or signed out everywhere meanwhile
        raise WrongPasskey
    return user
