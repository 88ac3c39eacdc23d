"""Error answers (interface §7): each exception becomes a status and `{"error": text}` as JSON, also
errors that Django finds before a view runs."""

import logging
import sys
from typing import Any

from django.core.exceptions import (
    DisallowedHost,
    ObjectDoesNotExist,
    PermissionDenied,
    SuspiciousOperation,
)
from django.db import InterfaceError, InternalError, OperationalError
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views import defaults
from rest_framework import exceptions
from rest_framework.response import Response

from base.urls import without_fragment
from throttling.errors import RateLimited

logger = logging.getLogger(__name__)


class KeyNotPermitted(exceptions.APIException):
    """The caller is an API key, which lacks the scope, or may not do this with any scope."""

    status_code = 403
    default_detail = "not permitted for this key"


# Status and text of exceptions of Django and DRF. All others keep their own, such as ParseError.
LIBRARY_ERRORS: list[tuple[Any, int, str]] = [
    (DisallowedHost, 400, "invalid host"),
    (SuspiciousOperation, 400, "bad request"),
    (exceptions.NotAuthenticated, 401, "missing or invalid token"),
    (exceptions.AuthenticationFailed, 401, "missing or invalid token"),
    ((exceptions.PermissionDenied, PermissionDenied), 403, "not permitted for your role"),
    ((exceptions.NotFound, Http404), 404, "not found"),
    (exceptions.MethodNotAllowed, 405, "method not allowed"),
    (exceptions.UnsupportedMediaType, 415, "unsupported media type"),
    # A server that has become read-only raises InternalError.
    ((OperationalError, InterfaceError, InternalError), 503, "service unavailable"),
]


def error_body(exception: BaseException | None) -> tuple[int, dict[str, object]]:
    """The status and the body of the answer to an exception. APIExceptions that are not in
    LIBRARY_ERRORS have their own, with the members of their `extra`; anything else is a 500."""
    if isinstance(exception, exceptions.ValidationError):
        codes = exception.get_codes()  # has the structure of `detail`
        return 400, {"error": "invalid request", "fields": exception.detail, "codes": codes}
    for classes, status, error in LIBRARY_ERRORS:
        if isinstance(exception, classes):
            return status, {"error": error}
    if isinstance(exception, exceptions.APIException):
        extra: dict[str, object] = getattr(exception, "extra", {})  # more members of the body
        return exception.status_code, {"error": str(exception.detail)} | extra
    return 500, {"error": "internal error"}


def refresh_or_404(row: Model, **options: Any) -> None:
    """Read the row again by `refresh_from_db`. Raises NotFound (404) if it was deleted."""
    try:
        row.refresh_from_db(**options)
    except ObjectDoesNotExist:
        raise exceptions.NotFound from None


def exception_handler(exception: BaseException | None, context: dict[str, Any]) -> Response:
    """The answer to any exception of a view, by `error_body`: DRF calls this in place of its own
    handler. `context` has the `request`, and the `view` if there is one.

    Retry-After is in seconds: on a 429 until the window ends in which the request was counted, on
    another error the exception's `wait`, if it has one. WWW-Authenticate on a 401 is the
    exception's `auth_header`, by default Bearer. A 500 is logged, and a 503 without `wait`.
    """
    status, body = error_body(exception)
    request, headers = context["request"], {"Cache-Control": "no-store"}
    if status == 401:
        # DRF sets `auth_header` on its own exceptions; InvalidClient of the assistants has one.
        headers["WWW-Authenticate"] = getattr(exception, "auth_header", "Bearer")
    elif status == 405:
        headers["Allow"] = ", ".join(context["view"].allowed_methods)
    elif status == 429:
        headers["Retry-After"] = str(request.rate_limit.reset)
        if isinstance(exception, RateLimited):
            headers["x-ratelimit-remaining"] = "0"
    elif wait := getattr(exception, "wait", None):  # seconds
        headers["Retry-After"] = str(wait)
    elif status == 503:
        logger.error("request failed, database error: %s", exception)
    elif status == 500:
        path = without_fragment(request.path)
        logger.error("%s %s failed", request.method, path, exc_info=exception)
    return Response(body, status, headers=headers)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500: the answer to an exception from outside of an API view, which is that of
    `exception_handler`. In the admin site, Django's plain error page replaces its body."""
    answer = exception_handler(sys.exc_info()[1], {"request": request})
    is_page = request.path_info.startswith("/admin/")
    response = defaults.server_error(request) if is_page else JsonResponse(answer.data)
    response.status_code = answer.status_code
    for name, value in answer.headers.items():
        response.headers.setdefault(name, value)
    return response
