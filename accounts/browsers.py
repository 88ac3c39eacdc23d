"""Which browsers a user has signed in with, for the mail about the first sign-in with another one.
A browser's cookie holds the marks of the last MAX_MARKS users who have signed in with it. Marks
sign nobody in."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from audit.models import AuditEvent
from base.caller import browser_and_system, current_caller
from base.sealed import mac_of

BROWSER_COOKIE = "service_browser"
BROWSER_SECONDS = 400 * 86_400  # browsers keep no cookie for longer
MAX_MARKS = 5  # in a browser's cookie
MAX_EVENTS = 200  # a user's newest ones, which are compared with a sign-in


@dataclass
class Browser:
    """The browser that sent the current request."""

    marks: list[str]  # of its users, the last one to sign in first
    has_signed_in: bool = False  # by this request


current_browser: ContextVar[Browser | None] = ContextVar("browser", default=None)


class BrowserMiddleware:
    """Reads the marks of the request's browser, and renews its cookie if a user has signed in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        browser = Browser(request.COOKIES.get(BROWSER_COOKIE, "").split(".")[:MAX_MARKS])
        token = current_browser.set(browser)
        try:
            response = self.get_response(request)
        finally:
            current_browser.reset(token)
        if browser.has_signed_in and response.status_code < 400:
            response.set_cookie(
                BROWSER_COOKIE,
                ".".join(filter(None, browser.marks)),
                max_age=BROWSER_SECONDS,
                path="/",
                secure=settings.COOKIE_SECURE,
                httponly=True,
                samesite=settings.COOKIE_SAMESITE,
            )
        return response


def mark_of(user_id: UUID, secret: str | None = None) -> str:
    """The mark of a user under this secret, by default SECRET_KEY."""
    return mac_of("accounts.browser", str(user_id), secret).hex()[:32]


def is_known(user_id: UUID) -> bool:
    """Whether the current browser has the user's mark, or one of the user's last MAX_EVENTS audit
    events has the current address and the same names of browser and system: a browser may have
    lost the cookie, and programs keep none. Call it before the sign-in is recorded."""
    browser, caller = current_browser.get(), current_caller.get()
    secrets = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    if browser and any(mark_of(user_id, secret) in browser.marks for secret in secrets):
        return True
    events: Any = AuditEvent.objects.filter(actor_id=user_id).order_by("-pk")[:MAX_EVENTS]
    names = browser_and_system(caller.agent)
    return any(
        address == caller.address and browser_and_system(agent) == names
        for address, agent in events.values_list("address", "agent")
    )


def remember(user_id: UUID) -> None:
    """Put the user's mark first in the current browser's cookie, unless the request's answer is an
    error. Does nothing outside a request."""
    if browser := current_browser.get():
        mark = mark_of(user_id)
        others = [other for other in browser.marks if other != mark]
        browser.marks = [mark, *others][:MAX_MARKS]
        browser.has_signed_in = True
