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
from metrics import series
from signin.browsers import mail_about_browser
from signin.devices import device_of
from signin.errors import FactorMustBeSetUp, SecondFactorRequired, WrongCode, WrongCredentials
from signin.factors.enrolment import enrolment_for
from signin.factors.methods import FactorInput, Method
from signin.factors.models import Factors
from signin.hashers import hash_slot, spellings
from signin.models import UnlockLink
from throttling.models import UNKNOWN_DEVICE, Lockout


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
        if self is Policy.STAFF and settings.STAFF_SECOND_FACTOR:
            return True
        return user.company_requires_factor


@dataclass(frozen=True)
class Attempt:
    """An attempt to enter the password or the second factor of an address. Its methods raise
    TooManyAttempts, and count a refused call, while the address is locked for the device."""

    email: str  # canonical
    device: str = UNKNOWN_DEVICE  # the id of a known device

    def refuse_if_locked(self) -> None:
        if Lockout.objects.is_locked(self.email, self.device):
            Lockout.objects.refuse(self.email, self.device)

    def record_failure(self, **detail: Any) -> None:
        """Count a failed attempt, and record it in the audit log with `detail`. Raises
        TooManyAttempts if the address is locked for the device already. Call it outside a
        transaction, which the error answer would roll back.

        If that locks the address for unknown devices, an unlock link is requested. The worker looks
        the user up, so that a request runs the same queries for every address."""
        with transaction.atomic():
            is_counted = Lockout.objects.record_failure(self.email, self.device)
            if is_counted:
                audit.record(Kind.LOGIN_FAILED, subject=self.email, **detail)
            if is_counted and not self.device and Lockout.objects.is_locked(self.email):
                OutgoingMail.objects.request_mail(UnlockLink, self.email, settings.LANGUAGE_CODE)
        if not is_counted:
            Lockout.objects.refuse(self.email, self.device)

    def record_success(self) -> None:
        """Forget the failures of the address on the device."""
        Lockout.objects.clear_or_refuse(self.email, self.device)


@hash_slot()  # first, so that a waiting thread holds no database connection
def check_credentials(
    request: HttpRequest | Request,
    email: str,
    password: str,
    policy: Policy = Policy.SIGN_IN,
    **factor: Any,
) -> tuple[User, Method]:
    """Return the user who has this canonical address and password, and the method of the sign-in.
    `factor` is the second factor: `code` or `passkey`, the fields of a FactorInput.

    Callers have counted the request in the credential tier, and call `record_sign_in` after a
    sign-in. Call it outside transactions, which an error would roll back with the recorded failure.

    1. Wait for a slot to hash. Raises TooManyHashes if none is free in time.
    2. Raise TooManyAttempts if the address is locked for the caller's device. The further steps
       raise it as well if parallel attempts have locked the address meanwhile.
    3. Compare the password. An unknown address, or a user whom the policy does not admit, costs as
       many hashes as a wrong password. All three count as a failed attempt: WrongCredentials.
    4. With Policy.STAFF, raise WrongCredentials for others than support staff. It is recorded, but
       is no failed attempt, since the password is right.
    5. Check and use up the second factor. Raises SecondFactorRequired if it is missing, and
       WrongCode, after counting a failed attempt, if it is wrong.
    6. Raise FactorMustBeSetUp for a user without the second factor that the policy requires.
    7. Forget the failed attempts.
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
    method = check_factor(user, FactorInput(**factor), attempt)
    if method is Method.PASSWORD and policy.requires_factor(user):
        attempt.refuse_if_locked()
        raise FactorMustBeSetUp(enrolment=enrolment_for(user))
    attempt.record_success()
    return user, method


def record_sign_in(request: HttpRequest | Request, user: User, method: Method) -> None:
    """Record a sign-in, of which the user is mailed if the browser is new. The event names any
    method but PASSWORD."""
    mail_about_browser(request, user)
    detail: dict[str, Any] = {} if method is Method.PASSWORD else {"method": method.value}
    user.record_sign_in(Kind.LOGIN_SUCCEEDED, **detail)


@functools.cache
def dummy_hash() -> str:
    """A hash of a random password, with the current parameters."""
    return make_password(get_random_string(32))


def compare_password(user: User | None, password: str) -> bool:
    """Whether the password is right, in one of its Unicode `spellings`. Without a user it is not,
    at the cost of a wrong password. A hash with outdated parameters, or of another spelling
    than the first, is renewed."""
    encoded = user.password if user else dummy_hash()
    composed, *other_spellings = spellings(password)
    renew = functools.partial(renew_hash, user) if user else None
    if check_password(composed, encoded, renew):
        return True
    is_right = any(check_password(spelling, encoded) for spelling in other_spellings)
    if is_right and user:
        renew_hash(user, composed)
    return is_right


def renew_hash(user: User, password: str) -> None:
    """Store a new hash of the user's password, unless it was changed meanwhile."""
    encoded = make_password(password)
    if User.objects.filter(pk=user.pk, password=user.password).update(password=encoded):
        user.password = encoded


def check_factor(user: User, factor: FactorInput, attempt: Attempt) -> Method:
    """Check and use up the second factor, after the password or a link. Returns the method of the
    sign-in: PASSWORD for a user without a factor. Call it outside transactions, which would undo
    the record of a failed attempt. Then call `attempt.record_success`, which refuses a locked
    address; never before, or a password without its code would keep clearing the failures.

    Raises SecondFactorRequired if `factor` is empty, WrongCode after counting a failed attempt if
    it is wrong, and TooManyAttempts in place of these while the address is locked for the device.
    """
    factors = Factors.objects.filter(user=user).first() if user.has_second_factor else None
    if factors is None:
        return Method.PASSWORD
    if not factor:
        attempt.refuse_if_locked()
        raise SecondFactorRequired(methods=factors.method_names())
    reason = factor.check_and_use(factors)
    if reason is None:
        return factor.method
    attempt.record_failure(reason="second factor")
    series.wrong_codes.labels(factor.method.value).inc()
    factors.count_wrong_code()
    raise WrongCode(cause=reason)


def hash_new_password(user: User, password: str, field: str = "password") -> str:
    """The hash of a new password. Raises DRF's ValidationError, under the name `field`, for one
    that AUTH_PASSWORD_VALIDATORS refuse for the user, who may be unsaved. Call it in a `hash_slot`.
    """
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise serializers.ValidationError({field: get_error_detail(error)}) from None
    return make_password(password)
