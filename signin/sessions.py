"""Who gets a session, and the answer that brings it."""

from collections.abc import Sequence

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import tokens
from accounts.models import User
from accounts.serializers import USER_SERIALIZER
from metrics import series
from signin.devices import remember_device
from signin.errors import FactorMustBeSetUp
from signin.factors.enrolment import enrolment_for
from signin.factors.proof import AMR, Method


def session_response(
    request: Request, user: User, method: Method = Method.PASSWORD, auth_time: int | None = None
) -> Response:
    """AuthResponse with the cookies, for a user who has just signed in, or at `auth_time`.

    Raises FactorMustBeSetUp for a user who lacks the second factor that the company requires, and
    did not sign in at its provider. An e-mailed link is used up even so: the set-up cannot sign
    anyone in unnoticed.
    """
    if method is not Method.SSO and not user.has_second_factor and user.factor_required:
        raise FactorMustBeSetUp(enrolment=enrolment_for(user))
    request.user = user  # for the log line
    series.sign_ins.labels(method.value).inc()
    response = token_response(user, AMR[method], auth_time)
    if settings.DEVICE_LOCKOUT:
        remember_device(request, response, user)
    return response


def token_response(
    user: User, amr: Sequence[str], auth_time: int | None = None, *, cookie: bool = True
) -> Response:
    """AuthResponse with a new pair; `amr` says how the user signed in, `auth_time` when, in epoch
    seconds and by default now."""
    access, refresh = tokens.issue_pair(user, auth_time, amr)
    pair = {"access_token": str(access), "refresh_token": str(refresh), "token_type": "Bearer"}
    response = Response(pair | {"user": USER_SERIALIZER.to_representation(user)})
    if cookie:
        tokens.set_refresh_cookie(response, pair["refresh_token"], refresh["exp"] - refresh["iat"])
    return response
