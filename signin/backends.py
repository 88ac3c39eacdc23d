"""Django's authentication backend, for the admin site's permissions. Sessions of the admin site
contain its dotted path, so moving it would sign operators out."""

from django.contrib.auth.backends import ModelBackend


class EmailBackend(ModelBackend):
    """Loads users and their permissions. `authenticate` finds no user: it could not report a
    lockout or a missing second factor, so every sign-in calls `check_credentials` instead."""

    def authenticate(self, *args: object, **options: object) -> None:
        return None
