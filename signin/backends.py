"""E-mail address, password and second factor, behind the lockout: the one way in for the API, the
consent page and the admin."""

import contextlib
import functools
from typing import Any

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import check_password, make_password
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.http import HttpRequest
from django.utils.crypto import get_random_string
from rest_framework.request import Request

from accounts.authentication import find_user, user_sql
from accounts.models import SecondFactor, User
from audit import trail
from audit.models import Kind
from mail.emails import canonical_email
from mail.outbox import OutgoingMail
from signin.devices import STRANGER, Devices
from signin.errors import (
    FactorMustBeSetUp,
    FactorNeeded,
    SecondFactorRequired,
    TooManyHashes,
    WrongCode,
    WrongCredentials,
)
from signin.factors.enrolment import enrolment_for
from signin.factors.models import Factors
from signin.factors.proof import NOTHING, Method, Proof
from signin.models import UnlockLink
from throttling.exceptions import TooManyAttempts
from throttling.models import Lockout
from throttling.throttles import CredentialThrottle

FACTORS_COLUMNS = [field.attname for field in Factors._meta.concrete_fields]
USER_BY_EMAIL = user_sql(
    "person.email = %(email)s",
    ["company.second_factor = %(required)s", *(f"factors.{name}" for name in FACTORS_COLUMNS)],
    """JOIN accounts_account company ON company.id = person.account_id
    LEFT JOIN signin_factors factors ON factors.user_id = person.id""",
)


@functools.cache
def dummy_hash() -> str:
    """A hash of nothing anybody knows, made with the parameters of a new password."""
    return make_password(get_random_string(32))


def user_by_email(email: str) -> tuple[User | None, Factors | None]:
    """The user of a canonical address, `with_profile` and `factor_required`, and their factors:
    one statement, which costs the same whether there are any."""
    if connection.vendor != "postgresql":
        found: User | None = User.objects.with_profile().filter(email=email).first()
        return found, Factors.objects.filter(user=found).first()
    user, more = find_user(USER_BY_EMAIL, {"email": email, "required": SecondFactor.REQUIRED})
    if user is None:
        return None, None
    required, *row = more
    vars(user)["factor_required"] = required
    factors: Factors | None = Factors.from_db("default", FACTORS_COLUMNS, row) if row[0] else None
    return user, factors


def check_credentials(
    request: HttpRequest | Request | None,
    email: str,
    password: str,
    proof: Proof = NOTHING,
    *,
    staff: bool = False,
) -> tuple[User, Method]:
    """Who signs in by this, and by which method; raises as `check_password_and_factor`."""
    user, method = check_password_and_factor(request, email, password, proof, staff=staff)
    detail: dict[str, Any] = {} if method is Method.PASSWORD else {"method": method.value}
    trail.record(Kind.LOGIN_SUCCEEDED, actor=user, **detail)
    return user, method


def check_password_and_factor(
    request: HttpRequest | Request | None,
    email: str,
    password: str,
    proof: Proof,
    *,
    staff: bool = False,
) -> tuple[User, Method]:
    """The user whose canonical address and password these are, with `staff` one of the staff, and
    what they have shown. Every call that takes a password asks this.

    The request's cookie says which devices the browser is known as; without one for the address the
    caller is a stranger. Whose failures count, and whose lock holds, follows from it.

    Raises what `check_factor` does, WrongCredentials, or TooManyAttempts while the address is
    locked. An unknown address, an inactive user and one without a usable password cost one hash
    and count one failure exactly as a wrong password does: neither bytes nor time may tell a
    registered address from a free one.

    The lock is looked at again when the hash is done, since of many guesses that began together
    some may have failed meanwhile: answers count, not attempts.
    """
    devices = Devices(request)
    user, factors = user_by_email(email)
    device = devices.device_of(user) if devices.entries else STRANGER
    admit(request, email, device)
    known = user is not None and user.has_usable_password()
    encoded = user.password if user and known else dummy_hash()
    right = check_password(password, encoded, functools.partial(renew_hash, user))
    if not (user and known and right and user.is_active):
        if count_failure(email, device):
            raise WrongCredentials
        raise TooManyAttempts
    if staff and not user.is_staff:  # the password is right: no guess to be counted
        refuse_locked(email, device=device)
        trail.record(Kind.LOGIN_FAILED, actor=user, reason="not staff")
        raise WrongCredentials
    method = check_factor(user, factors, proof, device, staff=staff)
    if not Lockout.objects.clear_unless_locked(email, device):
        Lockout.objects.record_refusal(email, device)
        raise TooManyAttempts
    return user, method


def check_factor(
    user: User, factors: Factors | None, proof: Proof, device: str, *, staff: bool = False
) -> Method:
    """What somebody has shown who has shown a password or a link; used up, where it can be.

    Raises SecondFactorRequired where nothing came along, WrongCode for what does not hold, which is
    counted as a failure of the address and of the person; FactorMustBeSetUp; or TooManyAttempts.
    Asked before a lockout is cleared, or a password without the code would go on clearing it.
    """
    if factors is None:
        if not (user.factor_required or (staff and settings.STAFF_SECOND_FACTOR)):
            return Method.PASSWORD
        refuse_locked(user.email, device=device)
        raise FactorMustBeSetUp(enrolment_for(user))
    if not proof:
        refuse_locked(user.email, device=device)
        raise SecondFactorRequired(factors.methods())
    if proof.holds(user, factors):
        return proof.method
    if not count_failure(user.email, device, reason="second factor"):
        raise TooManyAttempts
    factors.count_wrong_code(proof.method.value)
    raise WrongCode


def count_failure(email: str, device: str = STRANGER, **detail: Any) -> bool:
    """Count and record a wrong guess; False when a lock has fallen since it was begun.

    With LOCKOUT_RELIEF the owner of an address that strangers have locked is mailed a way past it.
    Whether there is an owner is found out by the worker, as for every mail.

    The trail is told the address alone, whoever has it: the queries are the same for a stranger's.
    """
    if device and not Lockout.objects.has_room(email, device):
        device = STRANGER
    with transaction.atomic():
        counted = Lockout.objects.record_failure(email, device)
        if counted:
            trail.record(Kind.LOGIN_FAILED, subject=email, **detail)
        if settings.LOCKOUT_RELIEF and not device and counted and Lockout.objects.is_locked(email):
            OutgoingMail.objects.request(UnlockLink, email, settings.LANGUAGE_CODE)
    if not counted:
        Lockout.objects.record_refusal(email, device)
    return counted


def renew_hash(user: User | None, password: str) -> None:
    """Renew a hash that check_password has found made with older parameters; a password that was
    changed meanwhile stays as it is, and so does the hash when others wait to have theirs made."""
    if user is not None:
        same = User.objects.filter(pk=user.pk, password=user.password)
        with contextlib.suppress(TooManyHashes):  # the next log-in will do
            same.update(password=make_password(password))


def admit(
    request: HttpRequest | Request | None,
    email: str,
    device: str = STRANGER,
) -> None:
    """What every hash of a password passes before it is made: the credential tier, which counts a
    request once, and the lock of the address, which records whom it refuses. The hashers keep the
    queue themselves. Without a request (a shell) there is nobody to count.

    Raises TooManyAttempts.
    """
    if request is not None:
        CredentialThrottle().allow_request(request)
    refuse_locked(email, device=device)


def hash_password(request: Request, email: str, password: str, device: str = STRANGER) -> str:
    """The hash of a new password for the owner of a link. It takes a while: outside a transaction.

    Raises TooManyAttempts.
    """
    admit(request, email, device)
    return make_password(password)


def refuse_locked(email: str, locked: bool | None = None, device: str = STRANGER) -> None:
    """Raise TooManyAttempts while the address is locked, to strangers or to the known device; for
    every way in.

    `locked` says of strangers what a query has told already.
    """
    if Lockout.objects.is_locked(email, device) if locked is None or device else locked:
        Lockout.objects.record_refusal(email, device)
        raise TooManyAttempts


def clear_lockout(email: str, device: str = STRANGER) -> None:
    """Forget the failures of an address, or of a device that is known for it, after a sign-in.

    Raises TooManyAttempts if a lock has fallen meanwhile.
    """
    if not Lockout.objects.clear_unless_locked(email, device):
        raise TooManyAttempts


class EmailBackend(ModelBackend):
    """Django's own log-in forms and `authenticate()` pass the same check.

    They are told only that it failed; whoever must tell a lock from a wrong password calls
    `check_credentials`.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **fields: str,
    ) -> User | None:
        email = username or fields.get(User.USERNAME_FIELD)
        if not email or not password:
            return None
        try:
            return check_credentials(request, canonical_email(email), password)[0]
        except (ValidationError, WrongCredentials, FactorNeeded, TooManyAttempts):
            return None
