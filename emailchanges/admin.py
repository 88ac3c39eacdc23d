"""The lists of links that change an e-mail address or undo that, in the admin site."""

from django.contrib import admin

from base.admin import ReadOnlyAdmin
from emailchanges.models import EmailChange, UndoEmailChange


@admin.register(EmailChange)
class EmailChangeAdmin(ReadOnlyAdmin):
    list_display = ["email", "old_email", "created_at", "expires_at", "used_at"]
    search_fields = ["email__startswith", "old_email__startswith"]
    fields = ["email", "old_email", "user", "language", "created_at", "expires_at", "used_at"]


@admin.register(UndoEmailChange)
class UndoEmailChangeAdmin(ReadOnlyAdmin):
    list_display = ["email", "new_email", "created_at", "expires_at", "used_at"]
    search_fields = ["email__startswith", "new_email__startswith"]
    fields = ["email", "new_email", "user", "language", "created_at", "expires_at", "used_at"]
