"""Lockouts in the admin site."""

from typing import Any

from django.contrib import admin
from django.db.models import F, QuerySet
from django.http import HttpRequest

from base.admin import ReadOnlyAdmin, badge
from throttling.models import Lockout


class LockedNowFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "locked"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, Any]]:
        return [("now", "locked now")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.locked() if self.value() == "now" else queryset


@admin.register(Lockout)
class LockoutAdmin(ReadOnlyAdmin):
    """The records of failed attempts: locked addresses first, then the latest failures."""

    list_display = ["email", "failing_devices", "state", "failures", "failed_at", "locked_until"]
    list_filter = [LockedNowFilter]
    fields = ["email", "failing_devices", "state", "failures", "failed_at", "locked_until"]
    fields += ["refusals", "failure_sources"]
    readonly_fields = ["failing_devices", "state", "failure_sources"]
    search_fields = ["email"]
    ordering = [F("locked_until").desc(nulls_last=True), "-failed_at"]  # type: ignore[list-item]
    actions = ["clear"]

    @admin.display(description="failures by")
    def failing_devices(self, lockout: Lockout) -> str:
        return "a known device" if lockout.device else "unknown devices"

    def state(self, lockout: Lockout) -> str:
        return badge("Locked", "bad") if lockout.is_locked() else badge("Not locked")

    @admin.display(description="failures came from (24 hours)")
    def failure_sources(self, lockout: Lockout) -> str:
        sources = lockout.failure_sources().items()
        return ", ".join(f"{address or 'unknown'}: {times}" for address, times in sources)

    def has_clear_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("throttling.change_lockout")

    @admin.action(description="Unlock", permissions=["clear"])
    def clear(self, request: HttpRequest, queryset: QuerySet[Lockout]) -> None:
        """Unlock each address of the selected records once, for all its devices."""
        emails = dict.fromkeys(queryset.values_list("email", flat=True))
        self.apply_to_each(request, emails, Lockout.objects.unlock, "{} can sign in again.")
