"""The lockouts in the admin site: to look at, and to clear."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from throttling.models import Lockout


@admin.register(Lockout)
class LockoutAdmin(admin.ModelAdmin):
    list_display = ["email", "failures", "failed_at", "locked_until", "is_locked"]
    readonly_fields = ["email", "failures", "failed_at", "locked_until"]
    search_fields = ["email"]
    ordering = ["-failed_at"]
    actions = ["clear"]

    @admin.display(boolean=True, description="locked")
    def is_locked(self, lockout: Lockout) -> bool:
        return lockout.is_locked()

    @admin.action(description="Clear: let these addresses sign in again", permissions=["change"])
    def clear(self, request: HttpRequest, queryset: QuerySet[Lockout]) -> None:
        emails = list(queryset.values_list("email", flat=True))
        actor: Any = request.user
        cleared = sum(Lockout.objects.unlock(email, actor) for email in emails)
        self.message_user(request, f"Lockouts cleared: {cleared}.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Lockout | None = None) -> bool:
        return False
