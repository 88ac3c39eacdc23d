"""The bases of every app's views: who may call, who is counted, how a sign-in is answered."""

from collections.abc import Sequence
from typing import Any

from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer

from accounts import keys, tokens
from accounts.authentication import BearerAuthentication, bearer_token
from accounts.cookies import set_refresh_cookie
from accounts.devices import remember_device
from accounts.models import User
from accounts.permissions import IsAdmin
from accounts.serializers import auth_response
from throttling.throttles import AuthenticatedThrottle, CredentialThrottle
from throttling.views import CountedView


def valid(serializer: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """The request's body as the serializer cleans it; ValidationError (400) where it does not."""
    checked = serializer(data=request.data)
    checked.is_valid(raise_exception=True)
    return dict(checked.validated_data)


def valid_query(serializer: type[Serializer[Any]], request: Request) -> dict[str, Any]:
    """The address's query, likewise; of a parameter that is given twice the last one counts."""
    checked = serializer(data=request.query_params.dict())
    checked.is_valid(raise_exception=True)
    return dict(checked.validated_data)


class SignedInRequest(Request):
    """For type checkers: what a ProtectedView gets; its user is known."""

    user: User


class ProtectedView(CountedView):
    """Needs a bearer token; counted by its user, else by address. `request.user` is loaded."""

    request: SignedInRequest
    throttle_classes = [AuthenticatedThrottle]
    authentication_classes = [BearerAuthentication]
    permission_classes: Sequence[type[BasePermission]] = [IsAuthenticated]

    def subject(self, request: Request) -> str | None:
        """Whom the request is counted for: the id in a token that holds, without a query."""
        token = bearer_token(request)
        return token["sub"] if token else None


class AdminView(ProtectedView):
    """For a company's admins (403 for others): all that it reads or changes is their company's."""

    permission_classes = [IsAdmin]


class CredentialView(CountedView):
    """One of the calls that guess at something: a password, a link, a refresh token."""

    throttle_classes = [CredentialThrottle]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Without a key that signs nobody is let in: said before a link or a password is used."""
        super().initial(request, *args, **kwargs)
        keys.load().signing_key()

    def signed_in(self, user: User) -> Response:
        """AuthResponse for a user who has just shown a password or a link, with the cookie."""
        self.request.user = user  # for the log
        access, refresh = tokens.issue(user)
        encoded = str(refresh)
        response = Response(auth_response(user, str(access), encoded))
        set_refresh_cookie(response, refresh, encoded)
        remember_device(self.request, response, user)
        return response
