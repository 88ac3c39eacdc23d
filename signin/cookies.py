"""Which cookies are trusted, and which are cleared.

The contract: interface §5.
"""

from collections import Counter
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from accounts.tokens import set_refresh_cookie
from base.urls import web_origin

MAX_HEADER_BYTES = 8190  # what gunicorn takes of one line


class TrustedCookiesMiddleware:
    """Leaves only trusted cookies in `request.COOKIES`.

    An attacker on a neighbouring host can plant cookies of our names in a browser ("cookie
    tossing"). Of several with one name it is unknown which is ours: they become an empty one, which
    counts as none and is cleared. So does one with a NUL, which PostgreSQL refuses. Cookies of a
    foreign page's request are removed, so that they are neither read nor cleared. So are more than
    a browser's one line: Python before 3.11.10 reads them in quadratic time (CVE-2024-7592).
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if header := request.META.get("HTTP_COOKIE"):
            if is_foreign(request) or len(header) > MAX_HEADER_BYTES:
                request.COOKIES = {}  # without reading them
            else:
                empty = [name for name, value in request.COOKIES.items() if "\0" in value]
                request.COOKIES.update(dict.fromkeys([*empty, *repeated_names(header)], ""))
        return self.get_response(request)


def repeated_names(header: str) -> list[str]:
    """The names that occur more than once in a Cookie header (RFC 6265 §5.4 allows it). Decoded as
    by Django, which strips non-ASCII spaces around names."""
    header = header.encode("latin-1").decode(errors="replace")
    names = Counter(pair.partition("=")[0].strip() for pair in header.split(";"))
    return [name for name, times in names.items() if times > 1]


def is_foreign(request: HttpRequest) -> bool:
    """Whether a foreign page sent this request, by its Origin (RFC 6454 §7). Pages of this service,
    of the front-end and of CORS_ALLOWED_ORIGINS are not foreign."""
    origin = request.META.get("HTTP_ORIGIN")
    if origin is None:
        return False
    ours = [settings.SERVICE_URL, settings.FRONTEND_URL, *settings.CORS_ALLOWED_ORIGINS]
    return origin != own_origin(request) and origin not in map(web_origin, ours)


def own_origin(request: HttpRequest) -> str | None:
    """The web origin under which the browser called this service; None for an unknown host."""
    try:
        return web_origin(f"{request.scheme}://{request.get_host()}")
    except DisallowedHost:
        return None


def clear_refresh_cookie(request: HttpRequest, response: HttpResponseBase) -> None:
    """Clear the refresh cookie, unless the request comes from a foreign page."""
    if not is_foreign(request):
        set_refresh_cookie(response, "", 0)
