"""The access tokens of assistants: ours, but for the MCP endpoint alone (RFC 8707, RFC 9068)."""

from django.conf import settings
from rest_framework_simplejwt.exceptions import TokenError

from accounts.tokens import AccessToken, KeyRingBackend, Token
from assistants.models import Grant
from assistants.serializers import SCOPE

RESOURCE = f"{settings.SERVICE_URL}/mcp"  # the endpoint's URL is its name (RFC 8707 §2)


class AssistantToken(AccessToken):
    """Its `aud` keeps it out of the REST API, whose tokens have none. `grant` is the grant's id."""

    token_backend = KeyRingBackend(audience=RESOURCE, typ="at+jwt")

    @classmethod
    def for_grant(cls, grant: Grant) -> Token:
        """A token of the grant's user; it ends with the sessions of then, as any of theirs."""
        token = cls.for_sign_in(grant.user, int(grant.created_at.timestamp()))
        token.payload |= {
            "token_version": grant.token_version,
            "client_id": grant.client.client_id,
            "scope": SCOPE,
            "grant": str(grant.pk),
        }
        return token


def read(encoded: str) -> AssistantToken | None:
    """The token, if it is one of an assistant and holds."""
    try:
        return AssistantToken(encoded)
    except TokenError:
        return None
