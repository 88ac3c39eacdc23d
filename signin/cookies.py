"""Cookies: which ones are trusted, and the refresh cookie. It is set and cleared with the same
attributes, or browsers would keep it.

The contract: interface §5.
"""

import time
from collections import Counter
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.http.response import HttpResponseBase

NAME = "service_refresh"
LONGEST = 8190  # what gunicorn takes of one line
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def drop_untrusted_cookies(request: HttpRequest) -> None:
    """Leave in `request.COOKIES` only what can be trusted, whatever a cookie is for.

    An attacker on a neighbouring host can plant cookies of our names in a browser ("cookie
    tossing"). Of several with one name it is unknown which is ours: they become an empty one, which
    counts as none and is cleared. So does one with a NUL, which PostgreSQL refuses. Cookies of a
    foreign page's request are removed, so that they are neither read nor cleared. So are more than
    a browser's one line: Python before 3.11.10 reads them in quadratic time (CVE-2024-7592).
    """
    if is_foreign(request) or len(request.META["HTTP_COOKIE"]) > LONGEST:
        request.COOKIES = {}  # without reading them
    else:
        empty = [name for name, value in request.COOKIES.items() if "\0" in value]
        empty += repeated(request.META["HTTP_COOKIE"])
        request.COOKIES.update(dict.fromkeys(empty, ""))


def repeated(header: str) -> list[str]:
    """The names that a Cookie header holds more than once (RFC 6265 §5.4 allows it). It is decoded
    as Django does: a name may have spaces around it that are not ASCII, which Django strips."""
    header = header.encode("latin-1").decode(errors="replace")
    names = Counter(pair.partition("=")[0].strip() for pair in header.split(";"))
    return [name for name, times in names.items() if times > 1]


def is_foreign(request: HttpRequest) -> bool:
    """Whether a foreign page sent this request (by its Origin, RFC 6454 §7). Ours are the pages of
    this service, of the front-end, and of the origins that CORS allows."""
    origin = request.META.get("HTTP_ORIGIN")
    if origin is None:
        return False
    ours = [settings.SERVICE_URL, settings.FRONTEND_URL, *settings.CORS_ALLOWED_ORIGINS]
    return origin != own_origin(request) and origin not in map(origin_of, ours)


def origin_of(url: str) -> str:
    """The origin of an http(s) URL as browsers write it: lower case, no default port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.lower().removesuffix(DEFAULT_PORTS[parts.scheme])}"


def own_origin(request: HttpRequest) -> str | None:
    """The origin by which the browser called us; None where the host is not one of ours."""
    try:
        return origin_of(f"{request.scheme}://{request.get_host()}")
    except DisallowedHost:
        return None


def set_refresh_cookie(response: HttpResponseBase, encoded: str, expires: int) -> None:
    """Hand the browser the token until it expires, in epoch seconds; no script can read it."""
    response.set_cookie(
        NAME,
        encoded,
        max_age=max(0, expires - int(time.time())),
        path="/auth",
        secure=settings.COOKIE_SECURE,
        httponly=True,
        samesite=settings.COOKIE_SAMESITE,
    )


def clear_refresh_cookie(request: HttpRequest, response: HttpResponseBase) -> None:
    """Make the browser forget the token, unless a foreign page asks."""
    if not is_foreign(request):
        set_refresh_cookie(response, "", 0)
