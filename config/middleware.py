"""Middleware of the service; the Admin* classes are Django's own, for the admin site alone."""

import logging
import re
import time
from collections.abc import Callable
from typing import Any

from corsheaders.middleware import CorsMiddleware
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.deprecation import MiddlewareMixin

from audit.origin import Origin, current
from config.logs import new_request_id
from throttling.addresses import client_address

GetResponse = Callable[[HttpRequest], HttpResponseBase]


logger = logging.getLogger("access")

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


def request_id(request: HttpRequest) -> str:
    """The id that a trusted proxy gave, if it is short and safe to repeat; else a new one."""
    given = request.META.get("HTTP_X_REQUEST_ID", "")
    if settings.TRUSTED_PROXY_COUNT and REQUEST_ID.fullmatch(given):
        return str(given)
    return new_request_id()


def user_id(request: HttpRequest) -> str | None:
    """Who was found to be calling, without asking the session or the database again."""
    user = getattr(request, "_cached_user", None)  # the admin site's; `user` is lazy there
    if user is None and not request.path_info.startswith("/admin/"):
        user = getattr(request, "user", None)
    return str(user.pk) if user is not None and user.pk else None


class RequestLog:
    """Gives each request an id, tells the audit trail where it comes from, and logs it in one
    line. It stands first, so that no answer goes without."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        agent = request.META.get("HTTP_USER_AGENT", "")
        origin = Origin(client_address(request), agent, request_id(request))
        token = current.set(origin)
        try:
            response = self.get_response(request)
            response["X-Request-ID"] = origin.request_id
            fields = {
                "method": request.method,
                "path": request.path,
                "status": response.status_code,
                "ms": round((time.perf_counter() - started) * 1000, 1),
                "address": origin.address,
            }
            if user := user_id(request):
                fields["user"] = user
            logger.info("request", extra={"fields": fields})
            return response
        finally:
            current.reset(token)


class ContentLength:
    """States the length of every answer that is whole, so that connections can be kept alive."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if isinstance(response, HttpResponse) and "Content-Length" not in response:
            response["Content-Length"] = str(len(response.content))
        return response


class ContentSecurityPolicy:
    """Pages run, load and call nothing but this service's own files, and nobody may frame them."""

    POLICY = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers["Content-Security-Policy"] = self.POLICY
        return response


class Cors(CorsMiddleware):
    """CORS for requests that name an origin; others are told only that answers vary by it."""

    def __call__(self, request: HttpRequest) -> Any:
        if "HTTP_ORIGIN" in request.META:
            return super().__call__(request)
        response = self.get_response(request)
        patch_vary_headers(response, ["origin"])
        return response


class AdminOnly(MiddlewareMixin):
    """Mixed into a middleware class: requests outside the admin site pass straight through."""

    def __call__(self, request: HttpRequest) -> Any:
        if request.path_info.startswith("/admin/"):
            return super().__call__(request)
        return self.get_response(request)


class AdminHost:
    """Refuses a host that is not allowed (API views do so themselves, after they are counted)."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith("/admin/"):
            request.get_host()
        return self.get_response(request)


class AdminSession(AdminOnly, SessionMiddleware):
    """Sessions belong to the admin site; the API knows tokens only."""


class AdminLocale(AdminOnly, LocaleMiddleware):
    """The admin site speaks the browser's language; the API's words are fixed.

    The language is the thread's, so it is put back before the thread serves another request.
    """

    def __call__(self, request: HttpRequest) -> Any:
        try:
            return super().__call__(request)
        finally:
            translation.deactivate()


class AdminCsrf(AdminOnly, CsrfViewMiddleware):
    """The admin site's forms carry CSRF tokens; nothing else is authenticated by a session."""

    def process_view(self, request: HttpRequest, *view: Any) -> Any:
        if request.path_info.startswith("/admin/"):
            return super().process_view(request, *view)
        return None


class AdminAuthentication(AdminOnly, AuthenticationMiddleware):
    """`request.user` from the session."""


class AdminMessages(AdminOnly, MessageMiddleware):
    """What an admin action reports."""


class AdminFrames(AdminOnly, XFrameOptionsMiddleware):
    """No page of the admin site may be framed."""
