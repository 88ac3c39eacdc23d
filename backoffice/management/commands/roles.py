"""`manage.py roles`: create the groups of support staff.

Neither group can give a user a role, a permission, a company or a way to sign in. Only superusers
assign groups, and staff cannot act on operators.
"""

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.core.management.base import BaseCommand
from django.db import transaction

import audit
from audit.models import Kind

READ_ONLY = "Support (read-only)"
FIRST_LINE = "First line"
FIRST_LINE_RIGHTS = {
    "throttling.change_lockout",  # unlock
    "mail.change_outgoingmail",  # try a mail again
    "invitations.change_invitation",  # send an invitation again, or revoke it
    "apikeys.change_apikey",  # revoke an API key
    "passwords.add_passwordchange",  # mail a user a link to a new password
}


def group_permissions() -> dict[str, set[str]]:
    """The codes of each group's permissions, by the group's name."""
    models = [model for model in apps.get_models() if admin.site.is_registered(model)]
    rights = {f"{model._meta.app_label}.view_{model._meta.model_name}" for model in models}
    return {READ_ONLY: rights, FIRST_LINE: rights | FIRST_LINE_RIGHTS}


class Command(BaseCommand):
    help = (
        "Create the support groups: one that can view everything and change nothing, and a first "
        "line that can also unlock accounts, send mails and password links, and end invitations "
        "and API keys. Run it again after an upgrade."
    )

    @transaction.atomic
    def handle(self, *args: object, **options: object) -> None:
        """Create each group of `group_permissions`, or set its permissions anew if they differ, and
        record that as an event."""
        by_code = {
            f"{permission.content_type.app_label}.{permission.codename}": permission
            for permission in Permission.objects.select_related("content_type")
        }
        for name, codes in group_permissions().items():
            group, is_new = Group.objects.get_or_create(name=name)
            permissions = {by_code[code] for code in codes}
            if is_new or set(group.permissions.all()) != permissions:
                group.permissions.set(permissions)
                kind = Kind.ADMIN_ADDED if is_new else Kind.ADMIN_CHANGED
                audit.record(kind, subject=name, model="auth.group", fields=["permissions"])
            self.stdout.write(f"{name}: {len(codes)} permissions")
