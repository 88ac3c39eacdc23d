"""What several tests of backoffice share."""

from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User


def staff_with(user, *permissions):
    """A browser in which the user is one of the staff, with these permissions alone."""
    User.objects.filter(pk=user.pk).update(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(User.objects.get(pk=user.pk))
    return client
