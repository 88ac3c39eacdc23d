"""Who calls the MCP endpoint: a user's own program, or a connected app."""

from django.conf import settings
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.authentication import BearerAuthentication, encoded_bearer_token
from accounts.models import User
from assistants.models import Grant
from assistants.registration import SCOPE


class AssistantAuthentication(BearerAuthentication):
    """`request.user` is the user; `request.auth` is the grant of a connected app, or the API's own
    access token. The grant is looked up for each message, so its end is immediate."""

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        grant = Grant.objects.by_access_token(encoded_bearer_token(request))
        if grant is None:
            return super().authenticate(request)
        user = User.objects.find_by_token(str(grant.user_id), grant.token_version)
        if user is None:
            raise AuthenticationFailed
        return user, grant

    def authenticate_header(self, request: Request) -> str:
        """Says where to ask for authorisation, and for what (RFC 9728 §5.1, RFC 6750 §3.1)."""
        metadata = f"{settings.SERVICE_URL}/.well-known/oauth-protected-resource/mcp"
        challenge = f'Bearer resource_metadata="{metadata}", scope="{SCOPE}"'
        return challenge + (', error="invalid_token"' if encoded_bearer_token(request) else "")
