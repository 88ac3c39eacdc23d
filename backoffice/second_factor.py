"""The admin site's log-in beyond its first page: a second factor is shown, or set up."""

from typing import Any

from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME, login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_protect
from rest_framework.exceptions import NotAuthenticated

from audit import trail
from audit.models import Kind
from signin.devices import Devices, remember_device
from signin.errors import FactorMustBeSetUp, FactorNeeded, WrongCode
from signin.factors import totp
from signin.factors.enrolment import user_of_enrolment
from signin.factors.forms import second_page
from signin.factors.models import Factors
from signin.factors.proof import Proof
from signin.login import clear_lockout


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
    """The page with an app's QR code; `secret` is one that was shown before, with a wrong code."""
    user = user_of_enrolment(enrolment)
    if user is None or not user.is_staff:
        return redirect("admin:login")  # ten minutes are over
    context |= totp.begin(user, secret)
    context |= {"enrolment": enrolment, "wrong": secret is not None}
    return render(request, "admin/set_up_second_factor.html", context)


@csrf_protect
def set_up(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """Add the app by its first code, sign in, and show the recovery codes: this once."""
    enrolment, code = request.POST["enrolment"], Proof(request.POST.get("code", "")[:64])
    user = user_of_enrolment(enrolment)
    if user is None or not user.is_staff:
        return redirect("admin:login")  # ten minutes are over
    secret = totp.pending_secret(user, request.POST.get("id", ""))
    step = totp.step_of(secret, code.plain_code) if secret else None
    if secret is None or step is None:
        return offer(request, enrolment, context, secret)
    try:
        with transaction.atomic():
            clear_lockout(user.email, Devices(request).device_of(user))
            factors, codes = Factors.objects.open(user, enrolling=True)
            factors.add_totp(secret, step, "")
            trail.record(Kind.LOGIN_SUCCEEDED, actor=user, method="totp")
    except NotAuthenticated:
        return redirect("admin:login")  # another form was first
    login(request, user, settings.AUTHENTICATION_BACKENDS[0])
    context |= {"codes": codes, "next": next_page(request)}
    response = render(request, "admin/recovery_codes.html", context)
    remember_device(request, response, user)
    return response


def next_page(request: HttpRequest) -> str:
    """Where the person was going, if that is a page of ours."""
    wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
    ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure())
    return wanted if ours else ""
