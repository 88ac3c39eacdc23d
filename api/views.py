"""Base classes of all views: how calls are counted, who may call, and what they may send.

The contract: interface §8.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, JSONParser
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from api.errors import KeyNotPermitted
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

Data = dict[str, Any]  # the validated data of a serializer
ADMIN = "admin"  # the role of a company's admins (interface §2)


class Scope(StrEnum):
    """What an API key may be made for. Views name scopes in `key_scopes`."""

    USERS_READ = "users:read"
    INVITATIONS_WRITE = "invitations:write"
    AUDIT_READ = "audit:read"
    EVENTS_READ = "events:read"
    SCIM = "scim"


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


class SignedInRequest(CountedRequest):
    """For type checkers: the request of a ProtectedView, whose user is known."""

    user: "User"


class ProtectedView(CountedView):
    """Needs a bearer token. Counted by its user, or by address without a valid one.

    `key_scopes` opens a method to API keys: it names the scope that a key needs, "" if any key may
    make the call. A key has no role, so its scope takes the place of the permission classes.
    """

    request: SignedInRequest
    key_scopes: Mapping[str, str] = {}
    throttle_classes = [AuthenticatedThrottle]
    authentication_classes = APIView.authentication_classes  # of DEFAULT_AUTHENTICATION_CLASSES
    permission_classes: Sequence[type[BasePermission]] = [IsAuthenticated]

    def scope_for(self, method: str | None) -> str | None:
        """The scope that an API key needs for this method; None if keys can't use it."""
        return self.key_scopes.get("GET" if method == "HEAD" else str(method))

    def check_permissions(self, request: Request) -> None:
        """Raises KeyNotPermitted for an API key without the scope."""
        scopes = getattr(request.user, "scopes", None)
        if scopes is None:  # a user
            return super().check_permissions(request)
        scope = self.scope_for(request.method)
        if scope is None or (scope and scope not in scopes):
            raise KeyNotPermitted
        return None


class IsAdmin(BasePermission):
    """Admins, who read and change their own company only."""

    def has_permission(self, request: Request, view: object) -> bool:
        return getattr(request.user, "role", None) == ADMIN


class CredentialView(CountedView):
    """A call in which a caller could guess: a password, a link, a refresh token."""

    throttle_classes = [CredentialThrottle]
