"""Error answers: `{"error": string}` as JSON, for Django's own errors as well.

The contract: interface §7.
"""

import logging
import sys
from typing import Any

from django.core.exceptions import DisallowedHost, PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, InternalError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response

from signin.errors import TooManyHashes
from throttling.errors import RateLimited

logger = logging.getLogger(__name__)

# Status and text of exceptions that are not ours. Ours have their own.
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
Answer = tuple[int, dict[str, object], dict[str, str]]  # status, body, headers


def error_body(exception: BaseException | None) -> tuple[int, dict[str, object]]:
    """The status and body of an exception's answer."""
    if isinstance(exception, exceptions.ValidationError):
        codes = exception.get_codes()  # in the same structure
        return 400, {"error": "invalid request", "fields": exception.detail, "codes": codes}
    for kind, (status, error) in KNOWN.items():
        if isinstance(exception, kind):
            return status, {"error": error}
    if isinstance(exception, exceptions.APIException):
        extra: dict[str, object] = getattr(exception, "extra", {})  # further members of the body
        return exception.status_code, {"error": str(exception.detail)} | extra
    return 500, {"error": "internal error"}


def answer_to(exception: BaseException | None, request: Any) -> Answer:
    """The status, body and headers of an error's answer. Errors of the service are logged."""
    status, body = error_body(exception)
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = getattr(exception, "auth_header", "Bearer")
    elif isinstance(exception, TooManyHashes):
        headers["Retry-After"] = str(exception.wait)
    elif status == 503:
        logger.error("request failed, database error: %s", exception)
    elif status == 500:
        logger.error("%s %s failed", request.method, request.path, exc_info=exception)
    return status, body, headers


def exception_handler(exception: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler. It answers every exception, so that each answer has the limit
    headers."""
    request = context["request"]
    status, body, headers = answer_to(exception, request)
    if status == 405:
        headers["Allow"] = ", ".join(context["view"].allowed_methods)
    elif status == 429:
        headers["Retry-After"] = str(request.rate_limit.reset)
        if isinstance(exception, RateLimited):
            headers["x-ratelimit-remaining"] = "0"
    return Response(body, status, headers=headers)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500, for exceptions outside API views: the same answer; in the admin site, a
    page with its text."""
    status, body, headers = answer_to(sys.exc_info()[1], request)
    if not request.path_info.startswith("/admin/"):
        return JsonResponse(body, status=status, headers=headers)
    page = defaults.server_error(request).content
    return HttpResponse(page, status=status, headers=headers)
