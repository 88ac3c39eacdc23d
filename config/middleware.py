"""Middleware of the service."""

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


def is_admin(request: HttpRequest) -> bool:
    return request.path_info.startswith("/admin/")


def user_id(request: HttpRequest) -> str | None:
    """Who was found to be calling, without asking the session or the database again."""
    user = getattr(request, "_cached_user", None)  # the admin site's; `user` is lazy there
    if user is None and not is_admin(request):
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
        if "Vary" in response.headers:
            patch_vary_headers(response, ["origin"])
        else:
            response.headers["Vary"] = "origin"
        return response


class AdminSite:
    """Django's own middleware, for the admin site alone: sessions, CSRF tokens, messages.

    One layer in the place of six, which every request of the API would pass through.
    """

    CHAIN = [
        SessionMiddleware,
        LocaleMiddleware,
        CsrfViewMiddleware,
        AuthenticationMiddleware,
        MessageMiddleware,
        XFrameOptionsMiddleware,
    ]

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self.chain: Any = get_response
        for middleware in reversed(self.CHAIN):
            self.chain = middleware(self.chain)
            if isinstance(self.chain, CsrfViewMiddleware):
                self.csrf = self.chain

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_admin(request):
            return self.get_response(request)
        request.get_host()  # refuses a host that is not allowed, as the API's views do themselves
        try:
            response: HttpResponseBase = self.chain(request)
            return response
        finally:
            translation.deactivate()  # the language is the thread's, which serves others next

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponseBase | None:
        """Called by Django, for the one middleware of the chain that has it."""
        return self.csrf.process_view(request, *view) if is_admin(request) else None
