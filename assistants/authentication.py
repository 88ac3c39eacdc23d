"""Who calls the MCP endpoint: a person's own program, or an assistant that was let in."""

from django.conf import settings
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.authentication import BearerAuthentication, encoded_bearer_token
from accounts.models import User
from assistants import tokens
from assistants.models import Grant
from assistants.serializers import SCOPE


class AssistantAuthentication(BearerAuthentication):
    """`request.user` is the person, and `request.auth` the grant by which an assistant acts for
    them; the token itself where it is one of the API's own. That a grant was not ended is looked
    up each time, so that its tokens end at once."""

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        token = tokens.read(encoded_bearer_token(request))
        if token is None:
            return super().authenticate(request)
        user = User.objects.find_by_token(token["sub"], token["token_version"])
        if user is None or (grant := Grant.objects.for_token(token)) is None:
            raise AuthenticationFailed
        return user, grant

    def authenticate_header(self, request: Request) -> str:
        """Says where to ask to be let in, and for what (RFC 9728 §5.1, RFC 6750 §3.1)."""
        metadata = f"{settings.SERVICE_URL}/.well-known/oauth-protected-resource/mcp"
        challenge = f'Bearer resource_metadata="{metadata}", scope="{SCOPE}"'
        return challenge + (', error="invalid_token"' if encoded_bearer_token(request) else "")
