"""The three tiers as DRF throttles, and the base of every API view, which counts requests first."""

from collections.abc import Sequence
from typing import IO, Any, ClassVar

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from base.origin import current
from throttling.errors import RateLimited, RequestTooLarge, TooManyAttempts
from throttling.limiter import Decision, limiter, network_limits

Data = dict[str, Any]  # the validated data of a serializer


class TierThrottle(BaseThrottle):
    """One counter for each caller, shared by all calls of the tier.

    It raises instead of returning False, for which DRF has only one exception.
    """

    tier: ClassVar[str]
    exceeded: ClassVar[type[APIException]] = RateLimited
    strict: ClassVar[bool] = False  # counted in process while Redis is unavailable

    def allow_request(self, request: HttpRequest | Request, view: APIView | None = None) -> bool:
        """True, or raise `exceeded`.

        The `limiter.Decision` stays on Django's request as `rate_limit`, for the answer's headers,
        with its tier as `rate_limit_tier`. A request that has one is not counted again, except by
        the strict tier, which counts every attempt at a credential.
        """
        counted: Any = getattr(request, "_request", request)
        tier = getattr(counted, "rate_limit_tier", None)
        if tier is None or (self.strict and tier != self.tier):
            caller = self.caller_key(request, view)
            limit = getattr(settings, f"RATE_LIMIT_{self.tier.upper()}")
            if self.strict:
                limit = network_limits.find_limit(caller) or limit
            counted.rate_limit = limiter.count_request(self.tier, caller, limit, strict=self.strict)
            counted.rate_limit_tier = self.tier
        if not counted.rate_limit.allowed:
            raise self.exceeded
        return True

    def caller_key(self, request: HttpRequest | Request, view: APIView | None) -> str:
        return current.get().address


class PublicThrottle(TierThrottle):
    """Public routes and unknown paths, by address."""

    tier = "public"


class CredentialThrottle(TierThrottle):
    """Calls that take or send a credential, by address."""

    tier = "credential"
    exceeded: ClassVar[type[APIException]] = TooManyAttempts
    strict = True


class AuthenticatedThrottle(TierThrottle):
    """Protected calls, by user and token version if the view's `bearer_token(request)` finds it
    valid, otherwise by address."""

    tier = "authenticated"

    def caller_key(self, request: HttpRequest | Request, view: APIView | None) -> str:
        read = getattr(view, "bearer_token", None)
        token = read(request) if read else None
        # No address begins with "user". An ended session has a count of its own.
        name = f"user:{token['sub']}:{token['token_version']}" if token else ""
        return name or super().caller_key(request, view)


class CountedRequest(Request):
    """For type checkers: the request of a CountedView, after it was counted."""

    rate_limit: Decision
    rate_limit_tier: str | None


class ObjectParser(JSONParser):
    """DRF's parser, for objects only (RFC 8259), however deeply nested. CountedView checks the
    size."""

    def parse(self, stream: IO[bytes], *args: Any, **options: Any) -> dict[str, Any]:
        try:
            body = super().parse(stream, *args, **options)
        except (ParseError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise ParseError("malformed JSON")
        return body


class JSONView(APIView):
    """Answers JSON, whatever Accept says."""

    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    parser_classes: Sequence[type[BaseParser]] = [ObjectParser]
    # DRF's Allow and Vary on every answer; config.errors sets Allow where it belongs, on a 405.
    default_response_headers: dict[str, str] = {}
    format_kwarg = None  # no path ends with a format, as DRF's may

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        renderer = self.get_renderers()[0]
        return renderer, renderer.media_type


class CountedView(JSONView):
    """An APIView that throttles before it negotiates, authenticates or parses.

    DRF's own `initial` throttles last, so invalid tokens and Accept headers would not be counted.
    """

    throttle_classes: Sequence[type[TierThrottle]] = [PublicThrottle]

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """DRF's steps, throttles first; also refuse unknown hosts and bodies that are too large."""
        self.check_throttles(request)
        request.get_host()  # raises DisallowedHost, which is a 400
        if int(request.META.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise RequestTooLarge
        self.perform_authentication(request)
        self.check_permissions(request)

    def validated_body(self, serializer: type[Serializer]) -> Data:
        """The request's body, validated. Raises ValidationError (400)."""
        return dict(serializer().run_validation(self.request.data))

    def validated_query(self, serializer: type[Serializer]) -> Data:
        """The URL's query, validated; of a repeated parameter the last one counts."""
        return dict(serializer().run_validation(self.request.query_params.dict()))

    def count_one_more(self, request: CountedRequest) -> None:
        """Count one more request, for an item of a list. Raises as `initial` does."""
        vars(request._request)["rate_limit_tier"] = None
        self.check_throttles(request)
