"""Checks of passwords and second factors, lockouts included, for sign-in and re-authentication.

Neither bytes, headers nor time of a refusal tell whether the address is registered.
"""

import enum
import functools
from dataclasses import dataclass
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

import audit
from accounts.models import User
from audit.models import Kind
from mail.outbox import OutgoingMail
from signin.devices import UNKNOWN_DEVICE, device_of
from signin.errors import FactorMustBeSetUp, SecondFactorRequired, WrongCode, WrongCredentials
from signin.factors.enrolment import enrolment_for
from signin.factors.methods import NO_FACTOR, FactorInput, Method
from signin.factors.models import Factors
from signin.hashers import hash_slot, spellings
from signin.models import UnlockLink
from throttling.models import Lockout


class Policy(enum.Enum):
    """Whose passwords a check accepts, and who needs a second factor."""

    SIGN_IN = enum.auto()  # users who may sign in by password
    STAFF = enum.auto()  # support staff who may sign in by password, for the back office
    REAUTHENTICATION = enum.auto()  # a signed-in user; their sign-in met the company's rules

    def admits(self, user: User) -> bool:
        """Whether the user may use a password here. If not, even the right one counts as wrong."""
        if not user.is_active or not user.has_usable_password():
            return False
        return self is Policy.REAUTHENTICATION or not user.must_use_provider

    def requires_factor(self, user: User) -> bool:
        """Whether the user must have a second factor. Re-authentication requires none: a user who
        lacks what the company requires signed in at its provider, which asks for factors."""
        if self is Policy.REAUTHENTICATION:
            return False
        return user.factor_required or (self is Policy.STAFF and settings.STAFF_SECOND_FACTOR)


@dataclass(frozen=True)
class Attempt:
    """An attempt to enter the password or the second factor of an address. Its methods raise
    TooManyAttempts while the address is locked for the device."""

    email: str  # canonical
    device: str = UNKNOWN_DEVICE  # the id of a known device

    def refuse_if_locked(self) -> None:
        """Raise TooManyAttempts, and count the refusal, if the address is locked for the device."""
        if Lockout.objects.is_locked(self.email, self.device):
            Lockout.objects.refuse(self.email, self.device)

    def record_failure(self, **detail: Any) -> None:
        """Count a failed attempt, and record it in the audit log with `detail`. Raises
        TooManyAttempts, and records no failure, if the address is locked for the device already.
        Call it outside a transaction, which the error answer would roll back.

        If the attempt locks the address for unknown devices, an unlock link is requested. The
        worker finds out whether a user has the address, and the audit event names no user, so that
        a request runs the same queries for every address.
        """
        with transaction.atomic():
            is_counted = Lockout.objects.record_failure(self.email, self.device)
            if is_counted:
                audit.record(Kind.LOGIN_FAILED, subject=self.email, **detail)
            if is_counted and not self.device and Lockout.objects.is_locked(self.email):
                OutgoingMail.objects.request_mail(UnlockLink, self.email, settings.LANGUAGE_CODE)
        if not is_counted:
            Lockout.objects.refuse(self.email, self.device)

    def record_success(self) -> None:
        """Forget the failures of the address on the device. Raises TooManyAttempts, and forgets
        none, if parallel attempts have locked the address for the device."""
        Lockout.objects.clear_or_refuse(self.email, self.device)


@hash_slot()  # first, so that a waiting thread holds no database connection
def check_credentials(
    request: HttpRequest | Request,
    email: str,
    password: str,
    factor: FactorInput = NO_FACTOR,
    policy: Policy = Policy.SIGN_IN,
) -> tuple[User, Method]:
    """Return the user who has this canonical address and password, and the method of the sign-in.

    Callers count the request in the credential tier before, and call `record_sign_in` after a
    sign-in. Call it outside transactions, which an error would roll back with the recorded failure.

    1. Wait for a slot to hash. Raises TooManyHashes if none is free in time.
    2. Raise TooManyAttempts if the address is locked for the caller's device. The further steps
       raise it as well if parallel attempts have locked the address meanwhile.
    3. Compare the password. An unknown address, or a user whom the policy does not admit, costs as
       many hashes as a wrong password. All three count as a failed attempt: WrongCredentials.
    4. With Policy.STAFF, raise WrongCredentials for others than support staff. It is recorded, but
       is no failed attempt, since the password is right.
    5. Check and use up the second factor. Raises SecondFactorRequired if `factor` is empty,
       WrongCode if it is wrong, which is a failed attempt, or FactorMustBeSetUp if the policy
       requires a factor that the user lacks.
    6. Forget the failed attempts, unless the address was locked meanwhile.
    """
    user = User.objects.find_by_email(email=email)
    attempt = Attempt(email, device_of(request, user))
    attempt.refuse_if_locked()
    if user and not policy.admits(user):
        user = None
    if not compare_password(user, password) or user is None:
        attempt.record_failure()
        raise WrongCredentials
    if policy is Policy.STAFF and not user.is_staff:
        attempt.refuse_if_locked()
        audit.record(Kind.LOGIN_FAILED, actor=user, reason="not staff")
        raise WrongCredentials
    method = check_factor(user, factor, attempt, policy)
    attempt.record_success()
    return user, method


def record_sign_in(user: User, method: Method) -> None:
    """Record a sign-in by password or passkey as `User.record_sign_in` does. The event names the
    method, unless it is PASSWORD."""
    detail: dict[str, Any] = {} if method is Method.PASSWORD else {"method": method.value}
    user.record_sign_in(**detail)


@functools.cache
def dummy_hash() -> str:
    """A hash of a random password, with the current parameters."""
    return make_password(get_random_string(32))


def compare_password(user: User | None, password: str) -> bool:
    """Whether the password is right, in one of its Unicode `spellings`. Without a user it returns
    False, at the cost of a wrong password. If the right password's stored hash has outdated
    parameters or is of another spelling, a new hash is stored."""
    encoded = user.password if user else dummy_hash()
    composed, *other_spellings = spellings(password)
    if check_password(composed, encoded, functools.partial(renew_hash, user)):
        return True
    is_right = any(check_password(spelling, encoded) for spelling in other_spellings)
    if is_right:
        renew_hash(user, composed)
    return is_right


def renew_hash(user: User | None, password: str) -> None:
    """Store a new hash of the user's present password, given in clear, unless another request has
    stored another hash meanwhile. Does nothing for None."""
    if user is not None:
        encoded = make_password(password)
        if User.objects.filter(pk=user.pk, password=user.password).update(password=encoded):
            user.password = encoded


def check_factor(
    user: User, factor: FactorInput, attempt: Attempt, policy: Policy = Policy.SIGN_IN
) -> Method:
    """Check and use up a user's second factor, after a password or a link. Returns the method of
    the sign-in: PASSWORD, whatever `factor` is, for a user who has no factor and needs none. Call
    it outside a transaction, which an error would roll back with the count of the failure.

    Raises SecondFactorRequired if `factor` is empty, WrongCode if it is wrong, which counts as a
    failed attempt and may mail the user (`count_wrong_code`), FactorMustBeSetUp for a user who has
    no factor and must have one by the policy, and TooManyAttempts in place of these errors while
    the address is locked for the device. A right factor is returned even then:
    `attempt.record_success` refuses it. Call that afterwards, never before: a password without its
    code would keep clearing the failures.
    """
    factors = Factors.objects.filter(user=user).first() if user.has_second_factor else None
    if factors is None:
        if not policy.requires_factor(user):
            return Method.PASSWORD
        attempt.refuse_if_locked()
        raise FactorMustBeSetUp(enrolment=enrolment_for(user))
    if not factor:
        attempt.refuse_if_locked()
        raise SecondFactorRequired(methods=factors.method_names())
    reason = factor.check_and_use(user, factors)
    if reason is None:
        return factor.method
    attempt.record_failure(reason="second factor")
    factors.count_wrong_code(factor.method.value)
    raise WrongCode(cause=reason)


def hash_new_password(user: User, password: str, field: str = "password") -> str:
    """The hash of a new password, which NewPasswordField has validated without a user. The user,
    whose names, address and company's name the password must not resemble, may be unsaved. Raises
    DRF's ValidationError, under the name `field`, for a password that resembles one of these or
    that another of AUTH_PASSWORD_VALIDATORS refuses. Call it in a `hash_slot`."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise serializers.ValidationError({field: get_error_detail(error)}) from None
    return make_password(password)
