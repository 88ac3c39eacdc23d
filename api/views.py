"""Base classes of all views: how calls are counted, who may call, and what they may send.

The contract: interface §8.
"""

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from throttling.errors import RequestTooLarge
from throttling.limiter import Decision
from throttling.throttles import (
    AuthenticatedThrottle,
    CredentialThrottle,
    PublicThrottle,
    TierThrottle,
)

if TYPE_CHECKING:
    from accounts.models import User

ValidatedData = dict[str, Any]  # the validated data of a serializer
ADMIN_ROLE = "admin"  # the role of a company's admins (interface §2)


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


class BaseView(APIView):
    """Base of all views: answers JSON, whatever Accept says, and asks for no token."""

    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    authentication_classes: Sequence[type[BaseAuthentication]] = []
    parser_classes: Sequence[type[BaseParser]] = [ObjectParser]
    # DRF's Allow and Vary on every answer; api.errors sets Allow where it belongs, on a 405.
    default_response_headers: dict[str, str] = {}
    format_kwarg = None  # no path ends with a format, as DRF's may

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        renderer = self.get_renderers()[0]
        return renderer, renderer.media_type


class CountedView(BaseView):
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

    def validated_body(self, serializer: type[Serializer]) -> ValidatedData:
        """The request's body, validated. Raises ValidationError (400)."""
        return dict(serializer().run_validation(self.request.data))

    def validated_query(self, serializer: type[Serializer]) -> ValidatedData:
        """The URL's query, validated; of a repeated parameter the last one counts."""
        return dict(serializer().run_validation(self.request.query_params.dict()))

    def count_one_more(self, request: CountedRequest) -> None:
        """Count one more request, for an item of a list. Raises as `initial` does."""
        vars(request._request)["rate_limit_tier"] = None
        self.check_throttles(request)


class SignedInRequest(CountedRequest):
    """For type checkers: the request of a ProtectedView, whose user is known."""

    user: "User"


class ProtectedView(CountedView):
    """Needs a bearer token. Counted by its user, or by address without a valid one."""

    request: SignedInRequest
    throttle_classes = [AuthenticatedThrottle]
    authentication_classes = APIView.authentication_classes  # of DEFAULT_AUTHENTICATION_CLASSES
    permission_classes: Sequence[type[BasePermission]] = [IsAuthenticated]


class IsAdmin(BasePermission):
    """Admins, who read and change their own company only."""

    def has_permission(self, request: Request, view: object) -> bool:
        return getattr(request.user, "role", None) == ADMIN_ROLE


class CredentialView(CountedView):
    """A call in which a caller could guess: a password, a link, a refresh token."""

    throttle_classes = [CredentialThrottle]
