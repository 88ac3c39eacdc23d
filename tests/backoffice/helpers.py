"""Helpers of several tests of the back office."""

from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from accounts.models import User


def page_of(row):
    """The URL of the row's page."""
    return reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_change", args=[row.pk])


def list_of(model):
    """The URL of the model's list."""
    return reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")


def text(browser, url, **query):
    return browser.get(url, query).content.decode()


def take_action(browser, name, *rows):
    """Take a confirmed action of the list on these rows of a model. Returns the list's text."""
    form = {"action": name, "_selected_action": [str(row.pk) for row in rows], "post": "yes"}
    answer = browser.post(list_of(rows[0]), form, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def staff_with(user, *permissions):
    """A browser of the user, who becomes staff with these permissions only."""
    User.objects.filter(pk=user.pk).update(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(User.objects.get(pk=user.pk))
    return client
