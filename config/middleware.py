"""The middleware of every request."""

import logging
import os
import re
import time
from collections.abc import Callable
from functools import lru_cache
from http import HTTPMethod
from ipaddress import IPv6Address, IPv6Network, ip_address

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import LazyObject
from whitenoise.middleware import WhiteNoiseMiddleware

from backoffice.site import too_many_attempts
from base.origin import Origin, current
from base.paths import FRAGMENT, without_fragment
from metrics import series
from signin.cookies import drop_untrusted_cookies
from throttling.errors import RateLimited, TooManyAttempts
from throttling.throttles import CredentialThrottle, PublicThrottle

logger = logging.getLogger("access")

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
# W3C Trace Context §3.2: version, trace id, parent id, flags.
TRACEPARENT = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
UNKNOWN = "unknown"  # a Unix socket has no peer address; such callers share one count
LONGEST = 100  # characters; an IPv6 address with brackets, zone and port has fewer


class RequestMiddleware:
    """Gives every request an id and an origin for logs and the audit log, drops untrusted cookies,
    sets headers on the answer, and writes one log line and one observation for /metrics."""

    POLICY = (  # pages load this service's own files only, and cannot be framed
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        request_id = request.META.get("HTTP_X_REQUEST_ID", "")
        if not (settings.TRUSTED_PROXY_COUNT and REQUEST_ID.fullmatch(request_id)):
            request_id = os.urandom(8).hex()
        agent = request.META.get("HTTP_USER_AGENT", "")
        origin = Origin(client_address(request), agent, request_id)
        token = current.set(origin)
        try:
            if request.META.get("HTTP_COOKIE"):
                drop_untrusted_cookies(request)
            response = self.get_response(request)
            headers = response.headers
            headers["X-Request-ID"] = origin.request_id
            if isinstance(response, HttpResponse) and "Content-Length" not in headers:
                headers["Content-Length"] = str(len(response.content))  # keeps connections alive
            if headers.get("Content-Type", "").startswith("text/html"):
                headers.setdefault("Content-Security-Policy", self.POLICY)
            if FRAGMENT.search(request.path):  # else the page's files would be asked for with it
                headers["Referrer-Policy"] = "no-referrer"
            if decision := getattr(request, "rate_limit", None):
                headers.setdefault("Cache-Control", "no-store")
                if response.status_code != 429:
                    headers["x-ratelimit-limit"] = str(decision.limit)
                    headers["x-ratelimit-remaining"] = str(decision.remaining)
                    headers["x-ratelimit-reset"] = str(decision.reset)
            log_request(request, response, time.perf_counter() - started)
            return response
        finally:
            current.reset(token)


def client_address(request: HttpRequest) -> str:
    """The address to count by: an IPv4 address, an IPv6 /64 network, or `UNKNOWN`.

    Behind n proxies it is the n-th entry of X-Forwarded-For from the right: each proxy appends its
    peer, and everything further left is the client's own claim. Without such an entry the request
    bypassed a proxy, and its peer counts.
    """
    headers, proxies = request.META, settings.TRUSTED_PROXY_COUNT
    hops = headers.get("HTTP_X_FORWARDED_FOR", "").rsplit(",", proxies) if proxies else []
    seen = hops[-proxies] if len(hops) >= proxies > 0 else ""
    for text in (seen, headers.get("REMOTE_ADDR", "")):
        address = canonical_address(text) if len(text) <= LONGEST else None  # caches no long one
        if address:
            return address
    return UNKNOWN


@lru_cache(maxsize=4096)
def canonical_address(text: str) -> str | None:
    """The canonical form of an address, or None if it is invalid. The address may have a port,
    brackets and a zone (`[fe80::1%eth0]:443`).

    IPv6 addresses are reduced to their /64, since a site gets at least that much (RFC 6177) and can
    change the rest at will.
    """
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address, 64), strict=False))


def log_request(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    """One log line, and one observation under the route's template, such as
    `users/<uuid:user_id>`, or `unknown` without a route."""
    route = getattr(request.resolver_match, "route", None) or "unknown"
    method = request.method if request.method in HTTPMethod.__members__ else "other"
    series.requests.labels(route, method, str(response.status_code)).observe(seconds)
    fields: dict[str, object] = {"method": request.method}
    fields["path"] = without_fragment(request.path)
    fields |= {"status": response.status_code, "ms": round(seconds * 1000, 1)}
    fields["address"] = current.get().address
    if trace := TRACEPARENT.fullmatch(request.META.get("HTTP_TRACEPARENT", "")):
        fields["trace_id"] = trace[1]
    user = getattr(request, "user", None)
    # Django's lazy user is used only if the view has already loaded it.
    is_known = not isinstance(user, LazyObject) or hasattr(request, "_cached_user")
    if is_known and user is not None and user.pk:
        fields["user"] = str(user.pk)
    logger.info("request", extra={"fields": fields})


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """Serves static files, those of up to LARGEST bytes compressed: nobody counts these requests,
    and larger files take long. Pages of another release ask for its paths: while hosts are upgraded
    one by one, they get the present files, for a minute."""

    OTHERS = re.compile("^/static/([0-9a-f]{12}/)?")
    LARGEST = 100_000

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        asked = request.path_info
        request.path_info = self.OTHERS.sub(settings.STATIC_URL, asked)
        if tag := request.META.get("HTTP_IF_NONE_MATCH"):  # weak once it is compressed
            request.META["HTTP_IF_NONE_MATCH"] = tag.removeprefix("W/")
        response: HttpResponseBase = super().__call__(request)
        if asked != request.path_info and response.status_code in {200, 206, 304}:
            response.headers["Cache-Control"] = "max-age=60, public"
        is_file = request.path_info.startswith(settings.STATIC_URL) and response.status_code == 200
        if is_file and int(response.headers["Content-Length"]) <= self.LARGEST:
            response = GZipMiddleware(self.get_response).process_response(request, response)
        return response


class CountingMiddleware(MiddlewareMixin):
    """Counts each request of the back office before anything else, so also without a CSRF token:
    an attempt to sign in in the credential tier, all others in the public tier."""

    def process_view(self, request: HttpRequest, *view: object) -> HttpResponse | None:
        if not f"{request.path_info}/".startswith("/admin/"):
            return None
        guesses = request.method == "POST" and request.path_info == reverse("admin:login")
        try:
            (CredentialThrottle if guesses else PublicThrottle)().allow_request(request)
        except (RateLimited, TooManyAttempts) as refusal:
            return too_many_attempts(request, refusal)
        return None
