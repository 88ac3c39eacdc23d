"""Authentication of provisioning: by API key alone."""

from rest_framework.exceptions import NotAuthenticated
from rest_framework.request import Request

from accounts.models import User
from apikeys.authentication import KeyAuthentication, find_api_key


class ScimAuthentication(KeyAuthentication):
    """`request.user` and `request.auth` are the API key. An access token is an unknown key."""

    def caller_key(self, request: Request) -> str:
        key = find_api_key(request)
        return f"key:{key.pk}" if key else ""

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        if find_api_key(request) is None:
            raise NotAuthenticated
        return super().authenticate(request)
