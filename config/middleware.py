"""The middleware that every request passes. The settings have their order."""

import logging
import os
import re
import time
from collections.abc import Callable
from functools import lru_cache
from http import HTTPMethod
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from whitenoise.middleware import WhiteNoiseMiddleware

from audit.actors import Actor
from base.caller import Caller, current_caller
from base.urls import FRAGMENT, without_fragment
from metrics import series

logger = logging.getLogger("access")

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
# W3C Trace Context §3.2: version, trace id, parent id, flags.
TRACEPARENT = re.compile("[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
UNKNOWN_ADDRESS = "unknown"  # a Unix socket has no peer address; such callers share one count
NAT64_NETWORK = IPv6Network("64:ff9b::/96")  # RFC 6052: the last 32 bits are an IPv4 address
MAX_ADDRESS_CHARACTERS = 100  # an IPv6 address with brackets, zone and port has fewer


class Middleware:
    """Base of the middleware classes below, which wrap each request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response


class CallerMiddleware(Middleware):
    """Sets the current Caller and request id, for logs, the audit log and the rate limits."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request_id = request.META.get("HTTP_X_REQUEST_ID", "")
        if not (settings.TRUSTED_PROXY_COUNT and REQUEST_ID.fullmatch(request_id)):
            request_id = os.urandom(8).hex()
        agent = request.META.get("HTTP_USER_AGENT", "")
        token = current_caller.set(Caller(client_address(request), agent, request_id))
        try:
            response = self.get_response(request)
        finally:
            current_caller.reset(token)
        response.headers["X-Request-ID"] = request_id
        return response


def client_address(request: HttpRequest) -> str:
    """The caller's address for rate limits: an IPv4 address, an IPv6 /64 network, or
    UNKNOWN_ADDRESS.

    Behind n trusted proxies it is the n-th entry of X-Forwarded-For from the right: each proxy
    appends its peer, and everything further left is the client's own claim. Without a valid entry,
    the request has bypassed a proxy: the address of the TCP connection counts, as without proxies.
    """
    headers, proxies = request.META, settings.TRUSTED_PROXY_COUNT
    hops = headers.get("HTTP_X_FORWARDED_FOR", "").rsplit(",", proxies) if proxies else []
    forwarded_entry = hops[-proxies] if len(hops) >= proxies > 0 else ""
    for text in (forwarded_entry, headers.get("REMOTE_ADDR", "")):
        # Longer texts must not fill the cache of `canonical_address`.
        if len(text) <= MAX_ADDRESS_CHARACTERS and (address := canonical_address(text)):
            return address
    return UNKNOWN_ADDRESS


@lru_cache(maxsize=4096)
def canonical_address(text: str) -> str | None:
    """The canonical form of an IP address, which may have a port, brackets and a zone
    (`[fe80::1%eth0]:443`); None if it is invalid. An IPv6 address that stands for no IPv4 address
    becomes its network, such as `2001:db8::/64`, since a site can change the rest at will (RFC
    6177)."""
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
    if address in NAT64_NETWORK:
        return str(IPv4Address(address.packed[-4:]))
    return str(IPv6Network((address, 64), strict=False))


class AccessLogMiddleware(Middleware):
    """Writes one log line for each request, and counts it for /metrics under its route, such as
    `users/<uuid:user_id>`, or `unknown` without a route."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started_at = time.perf_counter()
        response = self.get_response(request)
        seconds = time.perf_counter() - started_at
        route = getattr(request.resolver_match, "route", None) or "unknown"
        method = request.method if request.method in HTTPMethod.__members__ else "other"
        series.requests.labels(route, method, str(response.status_code)).observe(seconds)
        fields: dict[str, object] = {"method": request.method}
        fields["path"] = without_fragment(request.path)
        fields |= {"status": response.status_code, "ms": round(seconds * 1000, 1)}
        fields["address"] = current_caller.get().address
        if trace := TRACEPARENT.fullmatch(request.META.get("HTTP_TRACEPARENT", "")):
            fields["trace_id"] = trace[1]
        actor: Any = getattr(request, "user", None)
        # Not Django's lazy user, which would be read from the database.
        if issubclass(type(actor), Actor):
            fields[actor.log_field] = str(actor.pk)
        logger.info("request", extra={"fields": fields})
        return response


class HeadersMiddleware(Middleware):
    """Adds headers that Django does not:

    - what a page may load, and no referrer from a path that holds a mailed link's fragment;
    - the state of the caller's limit, to answers to counted requests, except a 429;
    - Content-Length, so that the connection can be kept, to answers that are not streamed.
    """

    POLICY = (  # pages load this service's own files only, and cannot be framed
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    )

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        headers = response.headers
        if headers.get("Content-Type", "").startswith("text/html"):
            headers.setdefault("Content-Security-Policy", self.POLICY)
        if FRAGMENT.search(request.path):  # requests for the page's files would name it as referrer
            headers["Referrer-Policy"] = "no-referrer"
        if decision := getattr(request, "rate_limit", None):
            headers.setdefault("Cache-Control", "no-store")
            if response.status_code != 429:
                headers["x-ratelimit-limit"] = str(decision.limit)
                headers["x-ratelimit-remaining"] = str(decision.remaining)
                headers["x-ratelimit-reset"] = str(decision.reset)
        if isinstance(response, HttpResponse):
            headers.setdefault("Content-Length", str(len(response.content)))
        return response


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """Serves static files.

    - Files of up to MAX_COMPRESSED_BYTES are compressed. Larger ones would take long, and these
      requests have no rate limit.
    - The pages' own scripts leave their comments out, a third of their compressed bytes.
    - While hosts are upgraded one by one, pages of another release request its paths. They get this
      release's files, to keep for a minute.
    """

    STATIC_PATH = re.compile("^/static/([0-9a-f]{12}/)?")  # of any release
    MAX_COMPRESSED_BYTES = 100_000
    OWN_SCRIPT_PATH = re.compile(r"/(assistants|backoffice|pages|signin)/[\w-]+\.js$")
    # A JSDoc comment anywhere, or another one that begins a line.
    COMMENT = re.compile(rb"(?ms)(/\*\*|^[ \t]*/\*).*?\*/ ?|^[ \t]*//[^\n]*")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith("/static/"):
            return self.answer_file(request)
        answer: HttpResponseBase = self.get_response(request)
        return answer

    def answer_file(self, request: HttpRequest) -> HttpResponseBase:  # `serve` is WhiteNoise's own
        """The response with the file that the path names, with or without a release's digest: this
        release's file, or an error. Sets the request's `path_info` and If-None-Match to those of
        the file."""
        requested_path = request.path_info
        request.path_info = self.STATIC_PATH.sub(settings.STATIC_URL, requested_path)
        if tag := request.META.get("HTTP_IF_NONE_MATCH"):  # weak once it is compressed
            request.META["HTTP_IF_NONE_MATCH"] = tag.removeprefix("W/")
        response: HttpResponseBase = super().__call__(request)
        if requested_path != request.path_info and response.status_code in {200, 206, 304}:
            response.headers["Cache-Control"] = "max-age=60, public"
        length = int(response.headers.get("Content-Length", 0))
        if response.status_code == 200 and length <= self.MAX_COMPRESSED_BYTES:
            if request.method == "GET" and self.OWN_SCRIPT_PATH.search(request.path_info):
                self.remove_comments(response)
            response = GZipMiddleware(self.get_response).process_response(request, response)
        return response

    def remove_comments(self, response: Any) -> None:
        """Replace each comment of the script in the response by its line breaks."""
        script = b"".join(response.streaming_content)
        script = self.COMMENT.sub(lambda comment: b"\n" * comment[0].count(b"\n"), script)
        response.streaming_content = [script]
        response.headers["Content-Length"] = str(len(script))
