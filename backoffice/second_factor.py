"""The admin site's log-in besides the password: a passkey, a second factor shown or set up."""

from typing import Any

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME, login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_protect
from rest_framework.exceptions import NotAuthenticated

from accounts.models import User
from signin.devices import device_of, remember_device
from signin.errors import FactorMustBeSetUp, FactorNeeded, WrongCode, WrongPasskey
from signin.factors import totp
from signin.factors.enrolment import user_of_enrolment
from signin.factors.forms import form_proof, second_page
from signin.factors.models import Factors
from signin.factors.passkeys import take_passkey
from signin.factors.proof import Method, Proof
from signin.login import clear_lockout


def operator_by_passkey(request: HttpRequest) -> User | None:
    """The operator whose passkey the form brings. As for POST /auth/passkeys/login, a signature
    cannot be guessed: it neither counts as a failure nor meets a lockout."""
    answer = form_proof(request.POST).passkey
    try:
        passkey = take_passkey(answer or {})
    except WrongPasskey:
        return None
    return User.objects.filter(pk=passkey.factors_id, is_active=True, is_staff=True).first()


@csrf_protect
def enter(request: HttpRequest, user: User) -> HttpResponse:
    user.record_sign_in(**Method.PASSKEY_ALONE.detail)
    login(request, user, settings.AUTHENTICATION_BACKENDS[0])
    return redirect(next_page(request) or "admin:index")


def ask(request: HttpRequest, needed: FactorNeeded, context: dict[str, Any]) -> HttpResponse:
    """The page that asks for a code or a passkey, or the one to set an app up."""
    if isinstance(needed, FactorMustBeSetUp):
        return offer(request, needed.extra["enrolment"], context)
    context |= second_page(request, request.POST["username"], request.POST["password"])
    context["wrong"] = isinstance(needed, WrongCode)
    return render(request, "admin/second_factor.html", context)


def offer(
    request: HttpRequest, enrolment: str, context: dict[str, Any], secret: bytes | None = None
) -> HttpResponse:
    """The page with an app's QR code; `secret` is one shown before, answered by a wrong code."""
    user = user_of_enrolment(enrolment)
    if user is None or not user.is_staff:
        return redirect("admin:login")  # its ten minutes are over
    context |= totp.begin(user, secret)
    context |= {"enrolment": enrolment, "wrong": secret is not None}
    return render(request, "admin/set_up_second_factor.html", context)


@csrf_protect
def set_up(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Add the app by its first code, sign in, and show the recovery codes, once."""
    enrolment, code = request.POST["enrolment"], Proof(request.POST.get("code", "")[:64])
    user = user_of_enrolment(enrolment)
    if user is None or not user.is_staff:
        return redirect("admin:login")  # its ten minutes are over
    secret = totp.pending_secret(user, request.POST.get("id", ""))
    step = totp.step_of(secret, code.plain_code) if secret else None
    if secret is None or step is None:
        return offer(request, enrolment, context, secret)
    try:
        with transaction.atomic():
            clear_lockout(user.email, device_of(request, user))
            factors, codes = Factors.objects.open(user)
            factors.add_totp(secret, step, "")
            user.record_sign_in(**Method.TOTP.detail)
    except NotAuthenticated:
        return redirect("admin:login")  # another form was faster
    login(request, user, settings.AUTHENTICATION_BACKENDS[0])
    context |= {"codes": codes, "next": next_page(request)}
    response = render(request, "admin/recovery_codes.html", context)
    remember_device(request, response, user)
    return response


def next_page(request: HttpRequest) -> str:
    """Where the operator was going, if that is one of our own pages."""
    wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
    ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure())
    return wanted if ours else ""
