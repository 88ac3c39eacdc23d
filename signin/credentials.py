"""Checking what was typed: password and second factor, lockout included.

REST, the consent page, the admin site and re-authentication call `check_credentials`. Neither the
bytes, the headers nor the time of its refusals tell whether an address is registered.
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
from api.views import ValidatedData
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
from signin.factors.methods import NO_FACTOR, FactorInput, Method
from signin.factors.models import Factors
from signin.hashers import hash_slot, spellings
from signin.models import UnlockLink
from throttling.models import Lockout


class Policy(enum.Enum):
    """Who may show a password, and what for."""

    SIGN_IN = enum.auto()  # users who may sign in by password
    STAFF = enum.auto()  # of these, support staff, for the back office
    REAUTHENTICATION = enum.auto()  # a signed-in user; their sign-in met the company's rules

    def admits(self, user: User) -> bool:
        """Whether the user's password counts at all."""
        if not user.is_active or not user.has_usable_password():
            return False
        return self is Policy.REAUTHENTICATION or not user.must_use_provider

    def requires_factor(self, user: User) -> bool:
        """Whether the user must have a second factor. If a signed-in user has none although the
        company requires one, they signed in at its provider, which asks for factors itself."""
        if self is Policy.REAUTHENTICATION:
            return False
        return user.factor_required or (self is Policy.STAFF and settings.STAFF_SECOND_FACTOR)


@dataclass(frozen=True)
class Attempt:
    """An attempt to show the password or the second factor of an address, from a known device or
    an unknown one. Its methods raise TooManyAttempts while the address is locked."""

    email: str  # canonical
    device: str = UNKNOWN_DEVICE

    def refuse_if_locked(self) -> None:
        if Lockout.objects.is_locked(self.email, self.device):
            Lockout.objects.refuse(self.email, self.device)

    def record_failure(self, **detail: Any) -> None:
        """Count and record the failure.

        If unknown devices have locked the address, its owner is mailed an unlock link. The worker
        finds out whether there is an owner, so that the queries are the same for every address. For
        the same reason the audit log gets only the address.
        """
        with transaction.atomic():
            counted = Lockout.objects.record_failure(self.email, self.device)
            if counted:
                audit.record(Kind.LOGIN_FAILED, subject=self.email, **detail)
            if counted and not self.device and Lockout.objects.is_locked(self.email):
                OutgoingMail.objects.request_mail(UnlockLink, self.email, settings.LANGUAGE_CODE)
        if not counted:
            Lockout.objects.refuse(self.email, self.device)

    def record_success(self) -> None:
        """Forget the failures. Parallel attempts may have locked the address meanwhile."""
        Lockout.objects.clear_or_refuse(self.email, self.device)


@hash_slot()  # first, so that a waiting thread holds no database connection
def check_credentials(
    request: HttpRequest | Request | None,
    email: str,
    password: str,
    factor: FactorInput = NO_FACTOR,
    policy: Policy = Policy.SIGN_IN,
) -> tuple[User, Method]:
    """The user with this canonical address and password, and the method of the sign-in, which the
    caller records (`record_sign_in`).

    The calling view has counted the request in the credential tier. Raises TooManyHashes (nothing
    was looked up), TooManyAttempts while the address is locked, WrongCredentials, or the errors of
    `check_factor`. Unknown addresses, and users whom the policy does not admit, cost as many hashes
    as a wrong password, and one failed attempt.
    """
    user = User.objects.find_by_email(email=email)
    attempt = Attempt(email, device_of(request, user))
    attempt.refuse_if_locked()
    if user and not policy.admits(user):
        user = None  # refused like an unknown address
    if not compare_password(user, password) or user is None:
        attempt.record_failure()
        raise WrongCredentials
    if policy is Policy.STAFF and not user.is_staff:  # the password is right: no failed attempt
        attempt.refuse_if_locked()
        audit.record(Kind.LOGIN_FAILED, actor=user, reason="not staff")
        raise WrongCredentials
    method = check_factor(user, factor, attempt, policy)
    attempt.record_success()
    return user, method


def record_sign_in(user: User, method: Method) -> None:
    """Record a sign-in that neither a link nor a provider began; the method unless it is the
    password alone."""
    detail: ValidatedData = {} if method is Method.PASSWORD else {"method": method.value}
    user.record_sign_in(**detail)


@functools.cache
def dummy_hash() -> str:
    """A hash of a random password, with the current parameters."""
    return make_password(get_random_string(32))


def compare_password(user: User | None, password: str) -> bool:
    """Whether the user's hash is of the password in any of its spellings. False without a user, at
    the same cost. Renews a hash that was made with old parameters or of another spelling."""
    encoded = user.password if user else dummy_hash()
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
        unchanged = User.objects.filter(pk=user.pk, password=user.password)
        encoded = make_password(password)
        if unchanged.update(password=encoded):
            user.password = encoded


def check_factor(
    user: User, factor: FactorInput, attempt: Attempt, policy: Policy = Policy.SIGN_IN
) -> Method:
    """Check and use up a user's second factor, after a password or a link.

    Call it before the attempt has succeeded, or a password without its code would keep clearing the
    failures. Raises SecondFactorRequired for an empty proof, WrongCode for a wrong one, which
    counts as a failed attempt, FactorMustBeSetUp, or TooManyAttempts.
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


def hash_new_password(user: User, password: str) -> str:
    """The hash of a new password, which NewPasswordField has taken, for a user who may be unsaved.
    Raises DRF's ValidationError for a password that the user may not have."""
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise serializers.ValidationError({"password": get_error_detail(error)}) from None
    return make_password(password)
