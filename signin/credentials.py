"""Checking what was typed: password and second factor, lockout included.

REST, the consent page, the admin site and re-authentication call `check_credentials`. Neither the
bytes, the headers nor the time of its refusals tell whether an address is registered. Calls that
take an e-mailed link hash a new password by `hash_new_password`, within a `hash_slot` and before
they use the link in a transaction.
"""

import functools
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.utils.crypto import get_random_string
from rest_framework import serializers
from rest_framework.fields import get_error_detail
from rest_framework.request import Request

from accounts.models import User
from api.views import Data
from audit import trail
from audit.models import Kind
from mail.outbox import OutgoingMail
from signin.devices import UNKNOWN_DEVICE, device_of
from signin.errors import (
    FactorMustBeSetUp,
    SecondFactorRequired,
    WrongCode,
    WrongCredentials,
)
from signin.factors.enrolment import enrolment_for
from signin.factors.models import Factors
from signin.factors.proof import Method, Proof
from signin.hashers import hash_slot, spellings
from signin.models import UnlockLink
from throttling.models import Lockout


@hash_slot()  # first, so that a waiting thread holds no database connection
def check_credentials(  # noqa: PLR0913  (what is shown, and two rules of the caller's)
    request: HttpRequest | Request | None,
    email: str,
    password: str,
    code: str = "",
    passkey: Any = None,
    *,
    staff: bool = False,
    signs_in: bool = True,
) -> tuple[User, Method]:
    """The user with this canonical address and password, and the method of the sign-in.

    The calling view has counted the request in the credential tier. `staff` admits staff only.
    `signs_in` records the sign-in; re-authentication does without.

    `code` is as typed, `passkey` an AuthenticationResponseJSON. Raises TooManyHashes (nothing was
    looked up), TooManyAttempts while the address is locked, WrongCredentials, or as `check_factor`.
    Unknown addresses, inactive users, users without a password and those who must sign in at their
    company's provider cost as many hashes as a wrong password, and one failed attempt.
    """
    user = User.objects.find_by_email(email=email)
    device = device_of(request, user)
    Lockout.objects.require_unlocked(email, device)
    is_admitted = user is not None and user.is_active and user.has_usable_password()
    if user is not None and signs_in and user.must_use_provider:
        is_admitted = False
    encoded = user.password if user and is_admitted else dummy_hash()
    is_right = compare_password(user, password, encoded)
    if not (user and is_admitted and is_right):
        count_failure(email, device)
        raise WrongCredentials
    if staff and not user.is_staff:  # the password is right, so this is no failed attempt
        Lockout.objects.require_unlocked(email, device)
        trail.record(Kind.LOGIN_FAILED, actor=user, reason="not staff")
        raise WrongCredentials
    method = check_factor(user, Proof(code, passkey), device, staff=staff, signs_in=signs_in)
    # Checked again: parallel guesses may have failed during the hash.
    Lockout.objects.clear(email, device)
    if signs_in:
        detail: Data = {} if method is Method.PASSWORD else {"method": method.value}
        user.record_sign_in(**detail)
    return user, method


@functools.cache
def dummy_hash() -> str:
    """A hash of a random password, with the current parameters."""
    return make_password(get_random_string(32))


def compare_password(user: User | None, password: str, encoded: str) -> bool:
    """Whether the hash is of the password in any of its spellings. Renews a hash that was made with
    old parameters or of another spelling."""
    composed, *other_spellings = spellings(password)
    if check_password(composed, encoded, functools.partial(renew_hash, user)):
        return True
    is_right = any(check_password(spelling, encoded) for spelling in other_spellings)
    if is_right:
        renew_hash(user, composed)
    return is_right


def renew_hash(user: User | None, password: str) -> None:
    """Replace a user's hash, unless the password was changed meanwhile."""
    if user is not None:
        same = User.objects.filter(pk=user.pk, password=user.password)
        encoded = make_password(password)
        if same.update(password=encoded):
            user.password = encoded


def count_failure(email: str, device: str = UNKNOWN_DEVICE, **detail: Any) -> None:
    """Count and record a failed attempt. Raises TooManyAttempts if the address is locked by now.

    If unknown devices have locked the address, its owner is mailed an unlock link. The worker
    finds out whether there is an owner, so that the queries are the same for every address. For the
    same reason the audit log gets only the address.
    """
    with transaction.atomic():
        counted = Lockout.objects.record_failure(email, device)
        if counted:
            trail.record(Kind.LOGIN_FAILED, subject=email, **detail)
        if counted and not device and Lockout.objects.is_locked(email):
            OutgoingMail.objects.request_mail(UnlockLink, email, settings.LANGUAGE_CODE)
    if not counted:
        Lockout.objects.refuse(email, device)


def check_factor(
    user: User, proof: Proof, device: str, *, staff: bool = False, signs_in: bool = True
) -> Method:
    """Check and use up a user's second factor, after a password or a link. Users without one whose
    company requires it signed in at its provider, so re-authentication does not ask for it.

    Call it before the lockout is cleared, or a password without its code would keep clearing it.
    Raises SecondFactorRequired for an empty proof, WrongCode for a wrong one, which counts as a
    failed attempt, FactorMustBeSetUp, or TooManyAttempts.
    """
    factors = Factors.objects.filter(user=user).first() if user.has_second_factor else None
    if factors is None:
        if not signs_in or not (user.factor_required or (staff and settings.STAFF_SECOND_FACTOR)):
            return Method.PASSWORD
        Lockout.objects.require_unlocked(user.email, device)
        raise FactorMustBeSetUp(enrolment=enrolment_for(user))
    if not proof:
        Lockout.objects.require_unlocked(user.email, device)
        raise SecondFactorRequired(methods=factors.method_names())
    cause = proof.use_up(user, factors)
    if cause is None:
        return proof.claimed_method
    count_failure(user.email, device, reason="second factor")
    factors.count_wrong_code(proof.claimed_method.value)
    raise WrongCode(cause=cause)


def hash_new_password(user: User, password: str, device: str = UNKNOWN_DEVICE) -> str:
    """The hash of a new password, which NewPasswordField has taken, for the user of an e-mailed
    link, who may not exist yet. Raises TooManyAttempts while the address is locked, and DRF's
    ValidationError for a password that the user may not have."""
    Lockout.objects.require_unlocked(user.email, device)
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise serializers.ValidationError({"password": get_error_detail(error)}) from None
    return make_password(password)
