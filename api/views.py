"""Base classes of views: they count each call (interface §8), check who calls, and validate what is
sent. Calls that take the caller's password again have their base in signin.reauthentication."""

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

ValidatedData = dict[str, Any]  # a serializer's values by field
ADMIN_ROLE = "admin"  # of a company's admins (interface §2)


class Scope(StrEnum):
    """What an API key may be made for. Views name scopes in `key_scopes`."""

    USERS_READ = "users:read"
    INVITATIONS_WRITE = "invitations:write"
    AUDIT_READ = "audit:read"
    EVENTS_READ = "events:read"
    SCIM = "scim"


class CountedRequest(Request):
    """For type checkers: the request of a CountedView once it was counted."""

    rate_limit: Decision
    rate_limit_tier: str | None


class ObjectParser(JSONParser):
    """Parses JSON objects (RFC 8259). Raises ParseError for other values."""

    def parse(self, stream: IO[bytes], *args: Any, **options: Any) -> dict[str, Any]:
        """The JSON object in the body. Raises ParseError for anything else."""
        try:
            body = super().parse(stream, *args, **options)
        except (ParseError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise ParseError("malformed JSON")
        return body


class BaseView(APIView):
    """Base of all views. It needs no token, and answers with its first renderer, whatever Accept
    says: by default JSON."""

    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    authentication_classes: Sequence[type[BaseAuthentication]] = []
    parser_classes: Sequence[type[BaseParser]] = [ObjectParser]
    # No Allow and Vary on every answer, as by DRF; api.errors sets Allow on a 405.
    default_response_headers: dict[str, str] = {}
    format_kwarg = None  # no path ends with a format, such as `.json`

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        renderer = self.get_renderers()[0]
        return renderer, renderer.media_type


class CountedView(BaseView):
    """A view that counts each request before it authenticates or parses it. DRF throttles last."""

    throttle_classes: Sequence[type[TierThrottle]] = [PublicThrottle]

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Count the request, then check its host, its size, the credential and the permissions.

        Raises, in this order, the `exceeded` of the view's throttle (429), DisallowedHost (400),
        RequestTooLarge (413), what the authentication classes raise for an invalid credential
        (mostly AuthenticationFailed, 401), NotAuthenticated (401) for a missing one that the
        permissions need, and DRF's PermissionDenied or KeyNotPermitted (403).
        """
        self.check_throttles(request)
        request.get_host()  # raises DisallowedHost
        if int(request.META.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise RequestTooLarge
        self.perform_authentication(request)
        self.check_permissions(request)

    def validated_body(self, serializer: type[Serializer]) -> ValidatedData:
        """The values of the request's JSON body by field; without a body, those of {}. Raises DRF's
        ValidationError, ParseError or UnsupportedMediaType (415)."""
        return dict(serializer().run_validation(self.request.data))

    def validated_query(self, serializer: type[Serializer]) -> ValidatedData:
        """The values of the URL's query by field; of a repeated parameter the last one counts.
        Raises DRF's ValidationError."""
        return dict(serializer().run_validation(self.request.query_params.dict()))

    def count_one_more(self, request: CountedRequest) -> None:
        """Count the request once more in the view's tier, for a further item of the list that it
        sends. Raises RateLimited or TooManyAttempts beyond the limit."""
        vars(request._request)["rate_limit_tier"] = None
        self.check_throttles(request)


class SignedInRequest(CountedRequest):
    """For type checkers: the request of a ProtectedView. `user` is an ApiKey in place of a User if
    an API key made the call."""

    user: "User"


class ProtectedView(CountedView):
    """A view that needs an access token, or an API key where `key_scopes` names, by method, the
    scope that a key needs: "" if any key may make the call. Requests are counted by the caller."""

    request: SignedInRequest
    key_scopes: Mapping[str, str] = {}
    throttle_classes = [AuthenticatedThrottle]
    authentication_classes = APIView.authentication_classes  # of DEFAULT_AUTHENTICATION_CLASSES
    permission_classes: Sequence[type[BasePermission]] = [IsAuthenticated]

    def scope_for(self, method: str | None) -> str | None:
        """The scope that an API key needs for this method; "" if any key may use it, None if no key
        may."""
        return self.key_scopes.get("GET" if method == "HEAD" else str(method))

    def check_permissions(self, request: Request) -> None:
        """Check an API key, which has no role, by the call's scope: raises KeyNotPermitted. Check a
        user by the permission classes: raises NotAuthenticated or DRF's PermissionDenied."""
        granted_scopes = getattr(request.user, "scopes", None)
        if granted_scopes is None:  # a user, or no credential
            super().check_permissions(request)
            return
        needed_scope = self.scope_for(request.method)
        if needed_scope is None or (needed_scope and needed_scope not in granted_scopes):
            raise KeyNotPermitted


class IsAdmin(BasePermission):
    """The user is an admin. Which rows an admin may see and change, the view decides."""

    def has_permission(self, request: Request, view: object) -> bool:
        return getattr(request.user, "role", None) == ADMIN_ROLE


class CredentialView(CountedView):
    """A view of the credential tier: a caller could guess a password, a link or a token here."""

    throttle_classes = [CredentialThrottle]
