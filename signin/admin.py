"""Sign-up and unlock links in the admin site."""

from django.contrib import admin

from base.admin import ReadOnlyAdmin
from signin.models import SignupLink, UnlockLink


@admin.register(SignupLink)
class SignupLinkAdmin(ReadOnlyAdmin):
    list_display = ["email", "created_at", "expires_at", "used_at"]
    search_fields = ["email"]
    exclude = ["generation"]


@admin.register(UnlockLink)
class UnlockLinkAdmin(ReadOnlyAdmin):
    list_display = ["email", "user", "locked_at", "created_at", "expires_at", "used_at"]
    list_select_related = ["user"]
    search_fields = ["email"]
    exclude = ["generation"]
