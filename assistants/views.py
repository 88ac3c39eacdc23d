"""The MCP endpoint, and the calls of /auth/grants: list and disconnect a user's connected apps."""

from functools import partial
from typing import IO, Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.generics import ListAPIView
from rest_framework.parsers import BaseParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User
from accounts.tokens import BearerAuthentication, encoded_bearer_token, find_session_user
from api.openapi import example
from api.views import CountedView, ProtectedView, SignedInRequest
from assistants.errors import OriginNotAllowed
from assistants.metadata import SCOPE
from assistants.models import Grant


class MessageParser(BaseParser):
    """Returns the body as bytes, since MCP has its own errors for invalid JSON."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], *args: Any, **options: Any) -> bytes:  # type: ignore[override]
        return stream.read()


class AssistantAuthentication(BearerAuthentication):
    """Accepts a connected app's access token, with its Grant as `request.auth`, and the API's own.
    The grant is read for each message, so its end takes effect with the next one."""

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        """The user, with the app's Grant or the API's AccessToken; None without an Authorization
        header. Raises OriginNotAllowed for scripts of other web origins, as MCP requires against
        DNS rebinding, AuthenticationFailed without a valid token or its user, and OperationalError
        (503) for a token of the API while this process has read no signing key."""
        origin = request.headers.get("Origin")
        if origin not in {None, settings.SERVICE_URL, *settings.CORS_ALLOWED_ORIGINS}:
            raise OriginNotAllowed
        grant = Grant.objects.find_by_access_token(encoded_bearer_token(request))
        if grant is None:
            return super().authenticate(request)
        user = find_session_user(grant.user_id, grant.token_version, grant.claims)
        if user is None:
            raise AuthenticationFailed
        return user, grant

    def authenticate_header(self, request: Request) -> str:
        """The WWW-Authenticate header (RFC 9728 §5.1, RFC 6750 §3.1)."""
        metadata = f"{settings.SERVICE_URL}/.well-known/oauth-protected-resource/mcp"
        challenge = f'Bearer resource_metadata="{metadata}", scope="{SCOPE}"'
        return challenge + (', error="invalid_token"' if encoded_bearer_token(request) else "")


class MCPView(CountedView):
    """POST /mcp."""

    schema = None  # the protocol describes itself
    http_method_names = ["post"]
    authentication_classes = [AssistantAuthentication]
    permission_classes = [IsAuthenticated]
    parser_classes = [MessageParser]

    def post(self, request: SignedInRequest) -> Response:
        """Answer the MCP message in the body: a notification with 202 and no body, a request with
        its result, which also tells of a tool that failed. An invalid message is answered with a
        JSON-RPC error and the status of `answer_message`, not by an exception."""
        # Imported with the first message: services that receive none save the time and memory.
        from assistants import protocol, tools

        body: Any = request.data or b""
        handlers: dict[str, protocol.Handler] = {
            "tools/list": partial(tools.list_tools, request),
            "tools/call": partial(tools.call_tool, request),
        }
        status, answer = protocol.answer_message(body, request.headers, handlers)
        return Response(answer, status)


@example(
    {
        "id": "9e2b7a54-0c1d-4c88-8f57-0e3a5d1b6c20",
        "client_name": "Claudia",
        "host": "assistant.example",
        "created_at": "2026-03-02T08:45:00.500000Z",
        "used_at": "2026-03-03T07:10:30.120000Z",
        "expires_at": "2026-04-01T08:45:00.500000Z",
    }
)
class GrantSerializer(serializers.Serializer):
    """A connected app."""

    id = serializers.UUIDField()
    client_name = serializers.CharField(source="client.name", help_text="As the app claims.")
    host = serializers.CharField(help_text="The host that the app sends users back to.")
    created_at = serializers.DateTimeField()
    used_at = serializers.DateTimeField(help_text="When it last got a token.")
    expires_at = serializers.DateTimeField()


@extend_schema_view(
    get=extend_schema(
        operation_id="listGrants",
        summary="List the caller's connected apps",
        description="Newest first.",
    )
)
class ListGrantsView(ProtectedView, ListAPIView):
    """GET /auth/grants."""

    serializer_class = GrantSerializer

    def get_queryset(self) -> QuerySet[Grant]:
        return Grant.objects.live().filter(user=self.request.user).select_related("client")


class EndGrantView(ProtectedView):
    """DELETE /auth/grants/{id}."""

    @extend_schema(
        operation_id="endGrant",
        summary="Disconnect an app",
        description="Its tokens stop working at once.",
        responses={204: None},
    )
    def delete(self, request: SignedInRequest, grant_id: UUID) -> Response:
        # Also one that the rule of the company's provider suspends.
        grants = Grant.objects.filter(ended_at=None).select_related("client", "user")
        grant = get_object_or_404(grants, pk=grant_id, user=request.user)
        grant.end(actor=request.user)
        return Response(status=204)
