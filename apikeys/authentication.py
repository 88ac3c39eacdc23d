"""Authentication by API key, or by access token where the caller has sent none."""

from typing import TYPE_CHECKING, cast

from rest_framework.request import Request

from accounts.models import User
from accounts.tokens import BearerAuthentication, encoded_bearer_token
from api.openapi import describe_credential
from apikeys.models import PREFIX, ApiKey

if TYPE_CHECKING:
    from api.views import ProtectedView  # which DRF imports this module for

describe_credential(  # api.schema names it where a view's `key_scopes` does
    "apiKey",
    {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "cm_…",
        "description": "An API key with the scope, from POST /account/api-keys.",
    },
)


class KeyAuthentication(BearerAuthentication):
    """Authentication by a live API key, where the view's `key_scopes` opens the method to keys:
    `request.user` and `request.auth` are the key. Elsewhere, and for other texts, authentication is
    by access token."""

    def caller_key(self, request: Request) -> str:
        """The key under which the request is counted: the id of its live API key, else the user of
        its token. An API key is looked up before the count, also for a request that is refused."""
        key = find_api_key(request)
        return f"key:{key.pk}" if key else super().caller_key(request)

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        """The request's live API key, as the user and as `auth`; stores the time of its use.
        Without one, the user and the access token, or None without an Authorization header. Raises
        AuthenticationFailed for any other credential, and OperationalError (503) for an access
        token while this process has read no signing key."""
        key = find_api_key(request)
        if key is None:
            return super().authenticate(request)
        key.record_use()
        return cast(User, key), key


def find_api_key(request: Request) -> ApiKey | None:
    """The live API key that is the request's bearer token, or None: there is none, it is invalid,
    or the request's view takes no keys for the method. It is looked up once a request."""
    attributes = vars(request)
    if "api_key" not in attributes:
        text = encoded_bearer_token(request)
        view: ProtectedView | None = request.parser_context.get("view")
        is_open = text.startswith(PREFIX) and view and view.scope_for(request.method) is not None
        attributes["api_key"] = ApiKey.objects.find_by_key(text) if is_open else None
    return cast(ApiKey | None, attributes["api_key"])
