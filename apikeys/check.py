"""GET /auth/check: tells a reverse proxy whether to pass a request on (forward authentication)."""

import string
import time
from typing import Any, cast
from urllib.parse import quote

from django.core.validators import RegexValidator
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response

from accounts.models import User
from api.fields import OneOfField, TextField
from api.openapi import Raises
from api.views import ADMIN_ROLE, ProtectedView, SignedInRequest
from apikeys.errors import NotPermittedHere, SignInTooOld
from apikeys.models import ApiKey
from throttling.throttles import CheckThrottle

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
HEADERS = {
    "Kind": "`user` or `key`.",
    "User": "A user's id.",
    "Key": "A key's id.",
    "Account": "The company; empty for an operators' key.",
    "Role": "A user's current role.",
    "Email": "A user's address.",
    "Scopes": "A key's scopes, with spaces between.",
}
AS_WRITTEN = string.printable[:95].replace("%", "")  # printable ASCII without %


class CheckSerializer(serializers.Serializer):
    """The query of GET /auth/check."""

    role = OneOfField([ADMIN_ROLE], required=False, help_text="Users need this role.")
    scope = TextField(required=False, help_text="API keys need this scope.")
    max_age = TextField(
        required=False,
        validators=[RegexValidator(r"^[0-9]{1,9}\Z", "Must be a number of seconds.", "seconds")],
        help_text="Users signed in at most so many seconds ago; no key passes.",
    )


QUERY = CheckSerializer()  # created once: setting up its fields takes a tenth of the call


class CheckView(ProtectedView):
    """Whether a proxy may pass on a request with this token or API key."""

    throttle_classes = [CheckThrottle]
    permission_classes = [IsAuthenticated]
    key_scopes = dict.fromkeys(METHODS, "")  # so that other methods than GET are 405 for keys, too

    @extend_schema(
        operation_id="check",
        summary="Check a request for a proxy",
        description="A user's access token or an API key. With `role` users need the role, with "
        "`scope` keys need the scope; with one of them alone, the other kind of caller is refused. "
        "Unknown, empty and repeated parameters are refused. Counted by itself "
        "(RATE_LIMIT_CHECK), beside the authenticated tier.",
        parameters=[
            CheckSerializer,
            *(
                OpenApiParameter(f"X-Auth-{name}", str, "header", response=[204], description=text)
                for name, text in HEADERS.items()
            ),
        ],
        responses={204: None, 401: Raises(SignInTooOld), 403: Raises(NotPermittedHere)},
    )
    def get(self, request: SignedInRequest) -> Response:
        query = self.read_query()
        caller, auth = request.user, cast(Any, request.auth)
        key = auth if isinstance(auth, ApiKey) else None
        role, scope = query.get("role"), query.get("scope")
        if (role or scope) and not (scope in key.scopes if key else role == caller.role):
            raise NotPermittedHere
        signed_in_at = 0 if key else auth["auth_time"]
        if "max_age" in query and time.time() - signed_in_at > int(query["max_age"]):
            raise SignInTooOld
        return Response(status=204, headers=headers_about(key or caller))

    def read_query(self) -> dict[str, str]:
        """The validated query: those of `role`, `scope` and `max_age` that it has. Raises DRF's
        ValidationError also for unknown and repeated parameters: `?rol=admin` must not open."""
        query: Any = self.request.query_params
        problems = {
            name: ["Unknown or repeated parameter."]
            for name, values in query.lists()
            if name not in QUERY.fields or len(values) > 1
        }
        if problems:
            raise serializers.ValidationError(problems)
        return dict(QUERY.run_validation(query.dict()))

    def handle_exception(self, exc: Exception) -> Response:
        """The error's answer. That of a 401 or 403 has a WWW-Authenticate header, which tells what
        the caller lacks (RFC 6750 §3.1, RFC 9470 §3)."""
        response = super().handle_exception(exc)
        challenge = ""
        if isinstance(exc, SignInTooOld):
            max_age = self.request.query_params["max_age"]
            challenge = f' error="insufficient_user_authentication", max_age="{max_age}"'
        elif response.status_code == 401 and "HTTP_AUTHORIZATION" in self.request.META:
            challenge = ' error="invalid_token"'
        elif response.status_code == 403:
            challenge = ' error="insufficient_scope"'
        if response.status_code in {401, 403}:
            response.headers["WWW-Authenticate"] = f"Bearer{challenge}"
        return response


def headers_about(caller: User | ApiKey) -> dict[str, str]:
    """The header `X-Auth-…` for each of HEADERS, about this user or key. One that doesn't apply is
    "": without it, the proxy would pass on the client's own. `%` and all but printable ASCII is
    percent-encoded as UTF-8."""
    facts = {"Account": str(caller.account_id or "")}
    if isinstance(caller, ApiKey):
        facts |= {"Kind": "key", "Key": str(caller.pk), "Scopes": " ".join(caller.scopes)}
    else:
        facts |= {"Kind": "user", "User": str(caller.pk)}
        facts |= {"Role": caller.role, "Email": str(caller.email)}
    return {f"X-Auth-{name}": quote(facts.get(name, ""), AS_WRITTEN) for name in HEADERS}
