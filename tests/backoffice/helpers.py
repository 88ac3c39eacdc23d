"""Helpers of several tests of the back office."""

from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User


def staff_with(user, *permissions):
    """A browser of the user, who becomes staff with these permissions only."""
    User.objects.filter(pk=user.pk).update(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(User.objects.get(pk=user.pk))
    return client
