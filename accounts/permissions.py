"""Who may call what."""

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.models import Role


class IsAdmin(BasePermission):
    """The caller is an admin of a company."""

    def has_permission(self, request: Request, view: object) -> bool:
        return getattr(request.user, "role", None) == Role.ADMIN
