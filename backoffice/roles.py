"""The groups that support works in: which there are, and what each may do.

Neither holds what would give somebody more than they have: no role, no right, no company, no new
way in. Groups themselves are for superusers, and staff act on no operator.
"""

from collections.abc import Iterable

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.db import transaction

from audit import trail
from audit.models import Kind

LOOKING = "Support: look at everything, change nothing"
FIRST_LINE = "First line"
HELPS = {
    "throttling.change_lockout",  # unlock
    "mail.change_outgoingmail",  # try a mail again
    "invitations.change_invitation",  # send an invitation again, or revoke it
    "passwords.add_passwordchange",  # mail somebody a link to a new password
}


def view_permissions() -> set[str]:
    """The permissions to look at what the back office shows."""
    shown = [model for model in apps.get_models() if admin.site.is_registered(model)]
    metas = [model._meta for model in shown if model is not Group]
    return {f"{meta.app_label}.view_{meta.model_name}" for meta in metas}


def wanted() -> dict[str, set[str]]:
    """Each group's permissions, by its name."""
    return {LOOKING: view_permissions(), FIRST_LINE: view_permissions() | HELPS}


def make_roles() -> dict[str, list[str]]:
    """Make the groups, or give them what they lack and take what they have beside; each group's
    permissions now. What stands already is not recorded."""
    with transaction.atomic():
        return {name: fill(name, codes) for name, codes in wanted().items()}


def fill(name: str, codes: Iterable[str]) -> list[str]:
    group, made = Group.objects.get_or_create(name=name)
    had = set(group.permissions.values_list("pk", flat=True))
    given = [permission(code) for code in sorted(codes)]
    if made or had != {one.pk for one in given}:
        group.permissions.set(given)
        kind = Kind.ADMIN_ADDED if made else Kind.ADMIN_CHANGED
        trail.record(kind, subject=name, model="auth.group", fields=["permissions"])
    return [f"{one.content_type.app_label}.{one.codename}" for one in given]


def permission(code: str) -> Permission:
    """The permission that Django has made of a model; DoesNotExist before `migrate`."""
    app, _, codename = code.partition(".")
    found = Permission.objects.select_related("content_type")
    return found.get(content_type__app_label=app, codename=codename)
