"""All calls of provisioning, below /scim/v2 (RFC 7644)."""

from dataclasses import replace
from typing import Any, cast

from rest_framework.exceptions import NotAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

from accounts.errors import EmailTaken
from accounts.models import User
from api.errors import KeyNotPermitted
from api.views import ProtectedView, Scope, SignedInRequest
from apikeys.authentication import KeyAuthentication, find_api_key
from apikeys.check import METHODS
from apikeys.models import ApiKey
from base.caller import current_caller
from scim.errors import ScimError
from throttling.throttles import PublicThrottle, ScimThrottle

ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"


class ScimAuthentication(KeyAuthentication):
    """`request.user` and `request.auth` are the API key. An access token is an unknown key."""

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        if find_api_key(request) is None:
            raise NotAuthenticated
        return super().authenticate(request)


class ScimRenderer(JSONRenderer):
    media_type = "application/scim+json"


class ScimView(ProtectedView):
    """GET /scim/v2/Users and all other paths. scim2-server routes them, since /Schemas describes
    them in the place of the OpenAPI document."""

    schema = None
    authentication_classes = [ScimAuthentication]
    permission_classes = []
    renderer_classes = [ScimRenderer]
    key_scopes = dict.fromkeys(METHODS, Scope.SCIM)
    allowed_methods = METHODS

    def get_throttles(self) -> list[BaseThrottle]:
        """Unknown keys count in the public tier: in the credential tier, a directory whose key has
        ended would keep its office from signing in."""
        return [ScimThrottle() if find_api_key(self.request) else PublicThrottle()]

    def check_permissions(self, request: Request) -> None:
        """Raises KeyNotPermitted for a key without the scope or of the operators' company."""
        super().check_permissions(request)
        if cast(ApiKey, request.user).is_protected:
            raise KeyNotPermitted

    def serve(self, request: SignedInRequest, path: str) -> Response:
        """Answer by scim2-server, and then clear the key's last problem. Audit events of the call
        have `via` in their detail. Raises ScimError for what the library refuses, or another
        APIException for a change that is not allowed."""
        from scim.protocol import answer_request

        key = cast(ApiKey, request.user)
        token = current_caller.set(replace(current_caller.get(), through={"via": "scim"}))
        try:
            response = answer_request(key, request, path)
        finally:
            current_caller.reset(token)
        key.clear_problem()
        headers = {"Cache-Control": "no-store"} | response.headers
        headers.pop("Content-Type")
        return Response(response.body, response.status, headers=headers)

    get = post = put = patch = delete = serve

    def handle_exception(self, exc: Exception) -> Response:
        """Return the answer to any exception, with the body of RFC 7644 §3.12. If the request has a
        live key, an error below 500 is stored as the key's last problem, for the company's admins.
        """
        self.allowed_methods = getattr(exc, "allowed", METHODS)
        response = super().handle_exception(exc)
        data: Any = response.data
        detail, status = data.get("message", data["error"]), response.status_code
        scim_type = "uniqueness" if isinstance(exc, EmailTaken) else getattr(exc, "scim_type", "")
        body = {"schemas": [ERROR], "status": str(status), "detail": detail}
        response.data = body | ({"scimType": scim_type} if scim_type else {})
        key: ApiKey | None = vars(self.request).get("api_key")  # found without a further query
        if key and status < 500:
            # The library's texts may have values of the request, and so a person's.
            is_foreign = isinstance(exc, ScimError)
            key.record_problem(f"{status} {scim_type}".strip() if is_foreign else detail)
        return response
