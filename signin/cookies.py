"""Which cookies of a request are trusted, how the refresh cookie is cleared (interface §5), and the
cookies that hold a value for each of a browser's users."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from accounts.tokens import set_refresh_cookie
from base.urls import web_origin

MAX_HEADER_BYTES = 8190  # gunicorn's bound for one header line
MAX_USERS = 5  # of a browser, each with a value in a cookie


class TrustedCookiesMiddleware:
    """Leaves only trusted cookies in `request.COOKIES`.

    An attacker on a neighbouring host can plant cookies of our names in a browser ("cookie
    tossing"). An emptied cookie counts as missing. A 401 of POST /auth/refresh clears an emptied
    refresh cookie.

    - Of several cookies with one name it is unknown which is ours: they are emptied.
    - A cookie with a NUL, which PostgreSQL refuses, is emptied.
    - All cookies are removed, and so not cleared, if a foreign page sent the request.
    - All cookies are removed if the header is longer than MAX_HEADER_BYTES, since Python before
      3.11.10 reads it in quadratic time (CVE-2024-7592).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Remove or empty the request's untrusted cookies, then answer the request."""
        if header := request.META.get("HTTP_COOKIE"):
            if is_foreign(request) or len(header) > MAX_HEADER_BYTES:
                request.COOKIES = {}  # assigned before Django parses the header
            else:
                with_nul = [name for name, value in request.COOKIES.items() if "\0" in value]
                request.COOKIES.update(dict.fromkeys([*with_nul, *repeated_names(header)], ""))
        return self.get_response(request)


def repeated_names(header: str) -> list[str]:
    """The names that occur more than once in a Cookie header (RFC 6265 §5.4 allows it), as WSGI has
    it: in Latin-1. Django strips non-ASCII spaces around names."""
    header = header.encode("latin-1").decode(errors="replace")
    names = Counter(pair.partition("=")[0].strip() for pair in header.split(";"))
    return [name for name, count in names.items() if count > 1]


def is_foreign(request: HttpRequest) -> bool:
    """Whether the Origin header (RFC 6454 §7) names a page that is not of this service, of the
    front-end or of CORS_ALLOWED_ORIGINS: True for `null`, False without the header."""
    origin = request.META.get("HTTP_ORIGIN")
    if origin is None:
        return False
    our_urls = [settings.SERVICE_URL, settings.FRONTEND_URL, *settings.CORS_ALLOWED_ORIGINS]
    return origin != own_origin(request) and origin not in map(web_origin, our_urls)


def own_origin(request: HttpRequest) -> str | None:
    """The web origin under which the browser called this service; None for an unknown host."""
    try:
        return web_origin(f"{request.scheme}://{request.get_host()}")
    except DisallowedHost:
        return None


def clear_refresh_cookie(request: HttpRequest, response: HttpResponseBase) -> None:
    """Clear the refresh cookie, unless a foreign page sent the request."""
    if not is_foreign(request):
        set_refresh_cookie(response, "", 0)


def read_user_values(request: HttpRequest | Request, name: str) -> list[str]:
    """The values in the cookie that `set_user_values` sets, the last added first."""
    values = request.COOKIES.get(name, "").split(".")
    return [value for value in values[:MAX_USERS] if value]


def set_user_values(
    response: HttpResponseBase, name: str, values: list[str], lifetime: timedelta
) -> None:
    """Set a cookie with the first MAX_USERS of the values, which have no dot, one for each user who
    has signed in with the browser."""
    response.set_cookie(
        name,
        ".".join(values[:MAX_USERS]),
        max_age=lifetime,
        path="/",
        secure=settings.COOKIE_SECURE,
        httponly=True,
        samesite=settings.COOKIE_SAMESITE,
    )
