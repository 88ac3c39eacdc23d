"""The list of links that set a new password, in the admin site."""

from django.contrib import admin

from base.admin import ReadOnlyAdmin
from passwords.models import PasswordChange


@admin.register(PasswordChange)
class PasswordChangeAdmin(ReadOnlyAdmin):
    list_display = ["email", "user", "created_at", "expires_at", "used_at"]
    list_select_related = ["user"]
    search_fields = ["email__startswith"]
    fields = ["email", "user", "language", "created_at", "expires_at", "used_at"]
