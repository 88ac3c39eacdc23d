"""Base classes of all views: who may call, and how calls are counted.

The contract: interface §8.
"""

from collections.abc import Sequence
from uuid import UUID

from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Role, User
from accounts.tokens import BearerAuthentication, bearer_token
from throttling.views import AuthenticatedThrottle, CountedRequest, CountedView, CredentialThrottle


class SignedInRequest(CountedRequest):
    """For type checkers: the request of a ProtectedView, whose user is known."""

    user: User


class ProtectedView(CountedView):
    """Needs a bearer token. Counted by its user, or by address without a valid one."""

    request: SignedInRequest
    throttle_classes = [AuthenticatedThrottle]
    authentication_classes = [BearerAuthentication]
    permission_classes: Sequence[type[BasePermission]] = [IsAuthenticated]

    bearer_token = staticmethod(bearer_token)  # by which AuthenticatedThrottle counts


class IsAdmin(BasePermission):
    """Admins of a company only."""

    def has_permission(self, request: Request, view: object) -> bool:
        return getattr(request.user, "role", None) == Role.ADMIN


class AdminView(ProtectedView):
    """For a company's admins (403 for others), who read and change their own company only. What
    another request removes meanwhile isn't found."""

    permission_classes = [IsAdmin]

    def handle_exception(self, exc: Exception) -> Response:
        return super().handle_exception(Http404() if isinstance(exc, ObjectDoesNotExist) else exc)

    def get_colleague_or_404(self, user_id: UUID) -> User:
        """A user of the company, with all that admins see of them. 404 for others."""
        company = self.request.user.account_id
        return User.objects.with_profile().get(pk=user_id, account=company)


class CredentialView(CountedView):
    """A call in which a caller could guess: a password, a link, a refresh token."""

    throttle_classes = [CredentialThrottle]
