"""Which browsers a user has signed in with, for the mail about the first sign-in with another one.
A browser's cookie holds the marks of the last users who have signed in with it. Marks sign nobody
in."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from accounts.models import User
from audit.models import SIGN_IN_KINDS, AuditEvent
from base.caller import browser_and_system, current_caller
from base.sealed import mac_of
from mail.budget import Budget
from signin.cookies import read_user_values, set_user_values

BROWSER_COOKIE = "service_browser"
BROWSER_LIFETIME = timedelta(days=400)  # browsers keep no cookie for longer
MAX_EVENTS = 200  # a user's newest ones, which are compared with a sign-in


def mark_of(user: User, secret: str | None = None) -> str:
    """The mark of a user under this secret, by default SECRET_KEY."""
    return mac_of("accounts.browser", str(user.pk), secret).hex()[:32]


def has_signed_in(request: HttpRequest | Request, user: User) -> bool:
    """Whether the request's browser has the user's mark, or a sign-in among the user's last
    MAX_EVENTS audit events has the request's address and the same names of browser and system: a
    browser may have lost the cookie, and programs keep none."""
    marks = read_user_values(request, BROWSER_COOKIE)
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    if any(mark_of(user, secret) in marks for secret in secrets):
        return True
    caller = current_caller.get()
    events: Any = AuditEvent.objects.filter(actor_id=user.pk).order_by("-pk")[:MAX_EVENTS]
    names = browser_and_system(caller.agent)
    return any(
        kind in SIGN_IN_KINDS and address == caller.address and browser_and_system(agent) == names
        for kind, address, agent in events.values_list("kind", "address", "agent")
    )


def mail_about_browser(request: HttpRequest | Request, user: User) -> None:
    """Mail the user about a sign-in with a browser that the user has not signed in with before, at
    most once a day. Call it before the sign-in is recorded, not for one by a mailed link. The first
    sign-in of all is not mailed, nor any while `sign_in_mails` is off."""
    if user.sign_in_mails and user.last_sign_in_at and not has_signed_in(request, user):
        with transaction.atomic():
            if Budget.new_sign_ins(user.pk).spend():
                user.send_notice("new_sign_in")


def remember_browser(
    request: HttpRequest | Request, response: HttpResponseBase, user: User
) -> None:
    """Put the user's mark first in the cookie of the request's browser. Call it after a sign-in."""
    mark = mark_of(user)
    earlier_marks = read_user_values(request, BROWSER_COOKIE)
    marks = [mark, *(earlier for earlier in earlier_marks if earlier != mark)]
    set_user_values(response, BROWSER_COOKIE, marks, BROWSER_LIFETIME)
