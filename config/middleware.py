"""Middleware of the service."""

import logging
import os
import re
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.functional import LazyObject

from audit.origin import Origin, current
from metrics import series
from throttling.addresses import client_address

GetResponse = Callable[[HttpRequest], HttpResponseBase]


logger = logging.getLogger("access")

METHODS = {"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"}
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


def request_id(request: HttpRequest) -> str:
    """The id that a trusted proxy gave, if it is short and safe to repeat; else a new one."""
    given = request.META.get("HTTP_X_REQUEST_ID", "")
    if settings.TRUSTED_PROXY_COUNT and REQUEST_ID.fullmatch(given):
        return str(given)
    return os.urandom(8).hex()


def is_admin(request: HttpRequest) -> bool:
    return request.path_info.startswith("/admin/")


def user_id(request: HttpRequest) -> str | None:
    """Who was found to be calling, without asking the session or the database for the log alone."""
    user = getattr(request, "user", None)
    if isinstance(user, LazyObject) and not request.session.accessed:
        return None  # AuthenticationMiddleware's user, whom nobody has asked for
    return str(user.pk) if user is not None and user.pk else None


class RequestLog:
    """Gives each request an id, tells the audit trail where it comes from, logs it in one line and
    observes it for /metrics. It stands first, so that no answer goes without."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        agent = request.META.get("HTTP_USER_AGENT", "")
        origin = Origin(client_address(request), agent, request_id(request))
        token = current.set(origin)
        try:
            response = self.get_response(request)
            response.headers["X-Request-ID"] = origin.request_id
            self.log_request(request, response, time.perf_counter() - started, origin.address)
            return response
        finally:
            current.reset(token)

    def log_request(
        self, request: HttpRequest, response: HttpResponseBase, seconds: float, address: str
    ) -> None:
        """One line, and one observation in the series: by the route's template, as in
        `users/<uuid:user_id>`, or `unknown` for a path that is none of ours."""
        route = getattr(request.resolver_match, "route", None) or "unknown"
        method = request.method if request.method in METHODS else "other"
        series.request(route, method, str(response.status_code)).observe(seconds)
        fields = {
            "method": request.method,
            "path": request.path,
            "status": response.status_code,
            "ms": round(seconds * 1000, 1),
            "address": address,
        }
        if user := user_id(request):
            fields["user"] = user
        logger.info("request", extra={"fields": fields})


class AnswerHeaders:
    """States the length of every answer that is whole, so that connections can be kept alive.
    Pages run, load and call nothing but this service's own files, and nobody may frame them."""

    POLICY = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        headers = response.headers
        if isinstance(response, HttpResponse) and "Content-Length" not in headers:
            headers["Content-Length"] = str(len(response.content))
        if headers.get("Content-Type", "").startswith("text/html"):
            headers.setdefault("Content-Security-Policy", self.POLICY)
        return response


class AdminLocale(LocaleMiddleware):
    """LocaleMiddleware for the admin site alone: the API says its errors in one language.

    It refuses a host that is not allowed, too, as the API's views do themselves: CommonMiddleware
    would refuse it before the request is counted.
    """

    def __call__(self, request: HttpRequest) -> Any:
        if not is_admin(request):
            return self.get_response(request)
        request.get_host()
        response = super().__call__(request)
        translation.deactivate()  # the language is the thread's, which serves others next
        return response
