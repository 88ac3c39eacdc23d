"""Passkeys (WebAuthn Level 3), made and used with python-fido2, which ignores sign counts, as
synced passkeys require. Attestation is not requested."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.core.signing import Signer
from fido2 import webauthn
from fido2.server import Fido2Server
from fido2.utils import websafe_encode

from accounts.models import User
from accounts.tokens import find_session_user
from accounts.validators import PRODUCT_NAME
from base.emails import with_readable_domains
from base.nonces import UsedNonce
from signin.errors import WrongPasskey
from signin.factors.models import Passkey

COSE_ALGORITHMS = [-8, -7, -257]  # EdDSA, ES256, RS256: common authenticators have one
MAX_CREDENTIAL_ID_BYTES = 1023  # WebAuthn Level 3, §4, Credential ID
CHALLENGE_SECONDS = 300  # for which a challenge is valid
SIGN_IN_PURPOSE = "sign in"  # the purpose of a challenge; `adding_purpose` is the other one
VERIFICATION_REQUIRED = webauthn.UserVerificationRequirement.REQUIRED


class Challenge(NamedTuple):
    """What a passkey signs (§13.4.3). It is signed with SECRET_KEY instead of being stored, and
    works once, by its nonce (`UsedNonce`)."""

    nonce: str
    handle: str  # the user handle of the new passkey, in hexadecimal; "" for a sign-in
    made_at: int  # epoch seconds


def new_challenge(purpose: str, handle: bytes = b"") -> bytes:
    challenge = Challenge(secrets.token_hex(16), handle.hex(), int(time.time()))
    return challenge_signer(purpose).sign_object(challenge).encode()


def read_challenge(client_data: webauthn.CollectedClientData, purpose: str) -> Challenge:
    """The challenge that a browser returned. The caller uses its nonce up. Call it in
    `refuse_any_error`: it raises WrongPasskey if the challenge has expired or was answered in a
    frame on another site, and other errors if it was not made here for this purpose."""
    challenge = Challenge(*challenge_signer(purpose).unsign_object(client_data.challenge.decode()))
    # Another host's clock may be ahead; `UsedNonce.prune_expired` allows for that.
    if abs(time.time() - challenge.made_at) >= CHALLENGE_SECONDS or client_data.cross_origin:
        raise WrongPasskey
    return challenge


def adding_purpose(user: User) -> str:
    """The purpose of a challenge for a new passkey of the user. The first factor ends the sessions,
    and with them the challenges that were made for the password alone."""
    return f"add to {user.pk}:{user.token_version}"


def challenge_signer(purpose: str) -> Signer:
    return Signer(salt=f"signin.challenge {purpose}")


def fido_server() -> Fido2Server:
    server = Fido2Server(
        webauthn.PublicKeyCredentialRpEntity(name=PRODUCT_NAME, id=settings.PASSKEYS_RP_ID),
        webauthn.AttestationConveyancePreference.NONE,
        verify_origin=settings.PASSKEYS_ORIGINS.__contains__,
    )
    server.timeout = CHALLENGE_SECONDS * 1000  # type: ignore[assignment]
    public_key = webauthn.PublicKeyCredentialType.PUBLIC_KEY
    server.allowed_algorithms = [
        webauthn.PublicKeyCredentialParameters(type=public_key, alg=number)
        for number in COSE_ALGORITHMS
    ]
    return server


def request_options() -> dict[str, object]:
    """`{"publicKey": …}` with a PublicKeyCredentialRequestOptionsJSON for a sign-in, a second
    factor or a re-authentication. All but the challenge is the same for every user."""
    options, _ = fido_server().authenticate_begin(
        user_verification=VERIFICATION_REQUIRED, challenge=new_challenge(SIGN_IN_PURPOSE)
    )
    return dict(options)


def creation_options(user: User) -> dict[str, object]:
    """`{"publicKey": …}` with a PublicKeyCredentialCreationOptionsJSON for one more passkey of the
    user, whose present passkeys it excludes. The user handle is random for the first passkey. Later
    ones repeat it, so that a password manager keeps them together."""
    passkeys = list(Passkey.objects.filter(factors=user.pk))
    handle = bytes(passkeys[0].handle) if passkeys else secrets.token_bytes(16)
    purpose, email = adding_purpose(user), with_readable_domains(user.email)
    options, _ = fido_server().register_begin(
        webauthn.PublicKeyCredentialUserEntity(
            id=handle, name=email, display_name=user.get_full_name() or email
        ),
        [webauthn.AttestedCredentialData(bytes(passkey.credential)) for passkey in passkeys],
        resident_key_requirement=webauthn.ResidentKeyRequirement.REQUIRED,
        user_verification=VERIFICATION_REQUIRED,
        challenge=new_challenge(purpose, handle),
    )
    return dict(options)


@contextmanager
def refuse_any_error() -> Iterator[None]:
    """Raise WrongPasskey in place of any error in the block, which parses a browser's answer: that
    can fail with many kinds of errors, RecursionError included."""
    try:
        yield
    except Exception:
        raise WrongPasskey from None


def check_backup_flags(data: webauthn.AuthenticatorData) -> None:
    """Raise WrongPasskey for a passkey that is backed up although it is not eligible for backup
    (WebAuthn Level 3, §7.1 and §7.2). python-fido2 accepts one."""
    if data.is_backed_up() and not data.is_backup_eligible():
        raise WrongPasskey


def new_passkey(user: User, response: Any) -> dict[str, object]:
    """The fields of a new, unsaved Passkey of the user, from a RegistrationResponseJSON. Uses the
    challenge up. Raises WrongPasskey for anything that is wrong."""
    with refuse_any_error():
        registration = webauthn.RegistrationResponse.from_dict(response)
        client_data = registration.response.client_data
        challenge = read_challenge(client_data, adding_purpose(user))
        handle = bytes.fromhex(challenge.handle)
        _, state = fido_server().register_begin(
            webauthn.PublicKeyCredentialUserEntity(id=handle),
            user_verification=VERIFICATION_REQUIRED,
            challenge=client_data.challenge,
        )
        data = fido_server().register_complete(state, registration)
        check_backup_flags(data)
        credential = data.credential_data
        if credential is None or credential.public_key[3] not in COSE_ALGORITHMS:
            raise WrongPasskey
        if len(credential.credential_id) > MAX_CREDENTIAL_ID_BYTES:
            raise WrongPasskey
    if not UsedNonce.objects.use(challenge.nonce):
        raise WrongPasskey
    return {
        "credential_id": websafe_encode(credential.credential_id),
        "credential": bytes(credential),
        "handle": handle,
        "sign_count": data.counter,
    }


def use_passkey(response: Any, user_id: UUID | None = None) -> Passkey:
    """The passkey that made this AuthenticationResponseJSON: one of the user with this id, or
    anyone's if `user_id` is None. Uses the challenge up, and stores the use. Raises WrongPasskey
    for anything that is wrong. The caller checks lockouts, and whether the user is active."""
    with refuse_any_error():
        authentication = webauthn.AuthenticationResponse.from_dict(response)
    passkeys = Passkey.objects.select_related("factors__user")
    passkey = passkeys.filter(credential_id=authentication.id[:1400]).first()
    if passkey is None or user_id not in (None, passkey.factors_id):
        raise WrongPasskey
    with refuse_any_error():
        answer = authentication.response
        challenge = read_challenge(answer.client_data, SIGN_IN_PURPOSE)
        _, state = fido_server().authenticate_begin(
            user_verification=VERIFICATION_REQUIRED, challenge=answer.client_data.challenge
        )
        credential = webauthn.AttestedCredentialData(bytes(passkey.credential))
        fido_server().authenticate_complete(state, [credential], authentication)
        check_backup_flags(answer.authenticator_data)
        # An authenticator may leave the handle out where the user is known (§7.2, step 6). Some
        # browsers then send an empty one.
        handle = answer.user_handle
        if handle != bytes(passkey.handle) and (user_id is None or handle):
            raise WrongPasskey
    if not UsedNonce.objects.use(challenge.nonce):
        raise WrongPasskey
    passkey.use(answer.authenticator_data.counter)
    return passkey


def find_by_passkey(response: Any) -> User:
    """The user who signs in by this AuthenticationResponseJSON. Raises WrongPasskey for anything
    that is wrong, and for a user who is inactive, must sign in at the company's provider, or was
    signed out meanwhile. The caller records the sign-in."""
    owner = use_passkey(response).factors.user
    user = find_session_user(owner.pk, owner.token_version)
    if user is None:
        raise WrongPasskey
    return user
