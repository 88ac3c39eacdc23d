"""Django's authentication backend, for the admin site's permissions.

Sessions of the admin site name it by its path, so moving it would sign operators out.
"""

from django.contrib.auth.backends import ModelBackend


class EmailBackend(ModelBackend):
    """Loads users and their permissions. `authenticate()` finds nobody: it could tell its callers
    neither a lock nor a missing second factor, so every log-in calls `check_credentials` instead.
    """

    def authenticate(self, *args: object, **options: object) -> None:
        return None
