"""Django's authentication backend, for the admin site's permissions.

Sessions of the admin site name it by its path, so moving it would sign operators out.
"""

from typing import Any

from django.contrib.auth.backends import ModelBackend

from accounts.models import User


class EmailBackend(ModelBackend):
    """Loads users and their permissions. `authenticate()` always fails: it could not report a
    lockout or a missing second factor, so every sign-in calls `check_credentials` instead."""

    def get_user(self, user_id: Any) -> User | None:
        """None, which ends the session, for users who must sign in at their company's provider."""
        user = super().get_user(user_id)
        return None if user is None or user.must_use_provider else user

    def authenticate(self, *args: object, **options: object) -> None:
        return None
