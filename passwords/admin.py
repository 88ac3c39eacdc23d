"""Password changes in the admin site: the links, and a way to send one to a user."""

from typing import Any, cast

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from audit.admin import ReadOnlyAdmin
from passwords.models import PasswordChange, PasswordChangeQuerySet


class StatusFilter(admin.SimpleListFilter):
    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, Any]]:
        return [("live", "open"), ("used", "used"), ("expired", "expired")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet[PasswordChange]:
        links = cast(PasswordChangeQuerySet, queryset)
        if self.value() == "live":
            return links.live()
        if self.value() == "used":
            return links.filter(used_at__isnull=False)
        if self.value() == "expired":
            return links.filter(used_at=None, expires_at__lte=timezone.now())
        return links


@admin.register(PasswordChange)
class PasswordChangeAdmin(ReadOnlyAdmin):
    list_display = ["email", "user", "created_at", "expires_at", "used_at"]
    list_select_related = ["user"]
    list_filter = [StatusFilter]
    search_fields = ["email__startswith"]
    fields = ["email", "user", "language", "created_at", "expires_at", "used_at"]
    readonly_fields = ["user", "created_at", "expires_at", "used_at"]
