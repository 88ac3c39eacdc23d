"""The one place that shapes an error answer: `{"error": string}` as JSON, Django's own included.

The contract: interface §7.
"""

import logging
import sys
from collections.abc import Callable
from typing import Any

from django.core.exceptions import DisallowedHost, PermissionDenied, SuspiciousOperation
from django.core.signals import got_request_exception
from django.db import InterfaceError, InternalError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response

from assistants.errors import OAuthError
from config.middleware import is_admin
from pages import urls as pages
from signin.errors import TooManyHashes
from throttling.errors import RateLimited

logger = logging.getLogger(__name__)

# Exceptions that are not ours, and what they are called. Ours carry their words themselves.
KNOWN: dict[type[Exception], tuple[int, str]] = {
    DisallowedHost: (400, "invalid host"),
    SuspiciousOperation: (400, "bad request"),
    exceptions.NotAuthenticated: (401, "missing or invalid token"),
    exceptions.AuthenticationFailed: (401, "missing or invalid token"),
    exceptions.PermissionDenied: (403, "not permitted for your role"),
    PermissionDenied: (403, "not permitted for your role"),
    exceptions.NotFound: (404, "not found"),
    Http404: (404, "not found"),
    exceptions.MethodNotAllowed: (405, "method not allowed"),
    exceptions.UnsupportedMediaType: (415, "unsupported media type"),
    OperationalError: (503, "service unavailable"),
    InterfaceError: (503, "service unavailable"),
    InternalError: (503, "service unavailable"),  # a server that has become read-only
}
DATABASE_ERRORS = (OperationalError, InterfaceError, InternalError)


def error_body(exception: BaseException | None) -> tuple[int, dict[str, object]]:
    """The status and the body of the answer to an exception."""
    if isinstance(exception, exceptions.ValidationError):
        codes = exception.get_codes()  # of the same shape
        return 400, {"error": "invalid request", "fields": exception.detail, "codes": codes}
    for kind, (status, error) in KNOWN.items():
        if isinstance(exception, kind):
            return status, {"error": error}
    if isinstance(exception, RateLimited):
        return exception.status_code, {"error": str(exception.detail), "message": exception.message}
    if isinstance(exception, OAuthError):
        return exception.status_code, dict(exception.body)
    if isinstance(exception, exceptions.APIException):
        extra: dict[str, object] = getattr(exception, "extra", {})  # strings and lists beside it
        return exception.status_code, {"error": str(exception.detail)} | extra
    return 500, {"error": "internal error"}


def exception_handler(exception: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: every exception becomes an answer, so that each one is counted
    and carries the limit headers; an unexpected one is logged with its traceback."""
    status, body = error_body(exception)
    request, headers = context["request"], {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = getattr(exception, "auth_header", "Bearer")
    elif status == 405:
        headers["Allow"] = ", ".join(context["view"].allowed_methods)
    elif status == 429:
        headers["Retry-After"] = str(request.rate_limit.reset)
        if isinstance(exception, RateLimited):
            headers["x-ratelimit-remaining"] = "0"
    elif isinstance(exception, TooManyHashes):
        headers["Retry-After"] = str(exception.wait)
    elif isinstance(exception, DATABASE_ERRORS):
        logger.error("the database has failed the request: %s", exception)
    elif status == 500:
        logger.error("%s %s failed", request.method, request.path, exc_info=exception)
        got_request_exception.send(sender=None, request=request)
    return Response(body, status, headers=headers)


def is_page(request: HttpRequest) -> bool:
    """Whether a person looks at this path in a browser."""
    return is_admin(request) or request.path_info in pages.PATHS


def error_response(status: int, body: dict[str, object]) -> HttpResponse:
    """The answer of Django's own handlers, in the form of DRF's; no cache may keep it."""
    compact = {"ensure_ascii": False, "separators": (",", ":")}
    headers = {"Cache-Control": "no-store"}
    return JsonResponse(body, status=status, headers=headers, json_dumps_params=compact)


def page_or_error(page: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A handler of Django's: its page where a person looks at it, else the API's error."""

    def handle(request: HttpRequest, exception: Exception) -> HttpResponse:
        if is_page(request):
            return page(request, exception)
        return error_response(*error_body(exception))

    return handle


bad_request = page_or_error(defaults.bad_request)  # a refused host above all
permission_denied = page_or_error(defaults.permission_denied)
page_not_found = page_or_error(defaults.page_not_found)  # unknown paths go to a counted view


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500, which also sees an unreachable database, and the admin's log-in form
    when too many passwords are being hashed."""
    exception = sys.exc_info()[1]
    status, body = error_body(exception)
    if not is_page(request):
        return error_response(status, body)
    response = defaults.server_error(request)
    response.status_code = max(status, 500)
    if isinstance(exception, TooManyHashes):
        response["Retry-After"] = str(exception.wait)
    return response
