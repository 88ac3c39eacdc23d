"""Answers that begin a session, and the rules for who may begin one."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework_simplejwt.exceptions import TokenError

from accounts import tokens
from accounts.errors import SignInAtProvider
from accounts.models import User
from accounts.serializers import USER_SERIALIZER
from metrics import series
from signin.browsers import remember_browser
from signin.credentials import Attempt, check_factor, hash_new_password
from signin.devices import device_of, remember_device
from signin.errors import FactorMustBeSetUp, InvalidRefreshToken
from signin.factors.enrolment import enrolment_for
from signin.factors.methods import AMR, FactorInput, Method, remaining_amr
from signin.hashers import hash_slot
from throttling.models import Lockout


def sign_in_by_link(
    request: Request, links: Any, token: str, password: str, **fields: Any
) -> Response:
    """Redeem an e-mailed link with a new password. Returns AuthResponse with the cookies. The
    caller has counted the request in the credential tier.

    `links` is the manager of the kind of link. `fields` are `code` or `passkey`, a second factor,
    and the arguments of the link's `candidate`. That method returns the user that the link is for,
    new and unsaved or stored. The link's `redeem` takes the candidate with the hash of the new
    password, and returns the stored user.

    1. Wait for a slot to hash, and find the link and its candidate, who may sign in here.
    2. Refuse a locked address, and a password that the candidate may not have.
    3. Check the second factor: access to a mailbox is not enough for users who have one.
    4. In one transaction, use the link up, store the user, and forget the failed attempts.
    5. Begin the session. The link is used up even if the company requires a factor that the user
       lacks (FactorMustBeSetUp): setting it up signs the user in.

    Before step 5, raises TooManyHashes, InvalidLink, SignInAtProvider, TooManyAttempts, DRF's
    ValidationError for the password, SecondFactorRequired, WrongCode, EmailTaken, or NotFound for a
    deleted company; then the link can still be used."""
    factor = FactorInput(fields.pop("code", ""), fields.pop("passkey", None))
    with hash_slot():
        link = links.find_by_token(token)
        candidate = link.candidate(**fields)
        require_sign_in_here(candidate)
        attempt = Attempt(link.email, device_of(request, candidate))
        attempt.refuse_if_locked()
        candidate.password = hash_new_password(candidate, password)
        method = check_factor(candidate, factor, attempt)
        with transaction.atomic():
            user = link.redeem(candidate)
            attempt.record_success()
    return session_response(request, user, method)


def require_sign_in_here(user: User) -> None:
    """Raise SignInAtProvider if the company requires the user to sign in at its provider."""
    if user.must_use_provider:
        raise SignInAtProvider(user.account.name)


def find_session(request: Request, encoded: str) -> tuple[User, tokens.Claims]:
    """The user of an encoded refresh token, and its claims, with its `remaining_amr` as `amr`. The
    token can be used again. Raises InvalidRefreshToken for an invalid or expired token and an ended
    session, TooManyAttempts while the address is locked for the caller's device, and
    OperationalError (503) while no signing key has been read."""
    try:
        refresh = tokens.RefreshToken(encoded)
    except TokenError:
        raise InvalidRefreshToken from None
    user = User.objects.find_by_token_with_lock(
        id=refresh["sub"], token_version=refresh["token_version"], now=timezone.now()
    )
    if user is None or not tokens.session_allowed(user, refresh.payload):
        raise InvalidRefreshToken
    device = device_of(request, user)
    # `user.is_locked` tells for unknown devices, without a query.
    if Lockout.objects.is_locked(user.email, device) if device else user.is_locked:
        Lockout.objects.refuse(user.email, device)
    amr = remaining_amr(user, refresh["amr"])
    if amr is None:
        raise InvalidRefreshToken
    return user, refresh.payload | {"amr": amr}


def session_response(request: Request, user: User, method: Method) -> Response:
    """AuthResponse with the cookies, for a user who just signed in. The caller has checked the
    credentials and recorded the sign-in. The browser gets the user's mark, and with DEVICE_LOCKOUT
    becomes a known device. Don't call it in a transaction, unless that has locked the user's row.

    Unless `method` is SSO, raises SignInAtProvider for a user who must use the company's provider,
    and FactorMustBeSetUp for a user without the second factor that the company requires. Raises
    OperationalError (503) if there is no signing key.
    """
    if method is not Method.SSO:
        require_sign_in_here(user)
        if not user.has_second_factor and user.company_requires_factor:
            raise FactorMustBeSetUp(enrolment=enrolment_for(user))
    request.user = user  # for the log line
    series.sign_ins.labels(method.value).inc()
    response = token_response(user, AMR[method])
    remember_browser(request, response, user)
    if settings.DEVICE_LOCKOUT:
        remember_device(request, response, user)
    return response


def token_response(
    user: User, amr: Sequence[str], auth_time: int | None = None, *, cookie: bool = True
) -> Response:
    """AuthResponse with a new pair of tokens, and with `cookie` the refresh cookie. Checks nothing.
    The user signed in by `amr` (RFC 8176) at `auth_time` (epoch seconds; None means now). Raises
    OperationalError (503) if there is no signing key."""
    access, refresh = tokens.issue_pair(user, auth_time, amr)
    pair = {"access_token": str(access), "refresh_token": str(refresh), "token_type": "Bearer"}
    response = Response(pair | {"user": USER_SERIALIZER.to_representation(user)})
    if cookie:
        tokens.set_refresh_cookie(response, pair["refresh_token"], refresh["exp"] - refresh["iat"])
    return response
