"""The lockouts in the admin site: to look at, and to clear."""

from typing import Any, cast

from django.contrib import admin
from django.db.models import F, QuerySet
from django.http import HttpRequest

from audit import trail
from audit.admin import each
from throttling.models import Lockout


class LockedNowFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "locked"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        return [("now", "locked now")]

    def queryset(self, request: HttpRequest, queryset: Any) -> QuerySet[Lockout]:
        lockouts: QuerySet[Lockout] = queryset.locked() if self.value() == "now" else queryset
        return lockouts


@admin.register(Lockout)
class LockoutAdmin(admin.ModelAdmin):
    """The locked addresses first, then the last to have failed."""

    list_display = ["email", "whose", "state", "failures", "failed_at_utc", "locked_until_utc"]
    list_filter = [LockedNowFilter]
    fields = ["email", "whose", "failures", "failed_at_utc", "locked_until_utc"]
    fields += ["refusals", "sources"]
    readonly_fields = ["email", "whose", "failures", "failed_at_utc", "locked_until_utc"]
    readonly_fields += ["refusals", "sources"]
    search_fields = ["email"]
    ordering = [F("locked_until").desc(nulls_last=True), "-failed_at"]  # type: ignore[list-item]
    actions = ["clear"]

    @admin.display(description="whose failures")
    def whose(self, lockout: Lockout) -> str:
        return "a known device" if lockout.device else "strangers"

    @admin.display(description="state")
    def state(self, lockout: Lockout) -> str:
        return "LOCKED" if lockout.is_locked() else "not locked"

    @admin.display(description="failed at (UTC)", ordering="failed_at")
    def failed_at_utc(self, lockout: Lockout) -> str:
        return f"{lockout.failed_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="locked until (UTC)", ordering="locked_until")
    def locked_until_utc(self, lockout: Lockout) -> str:
        return f"{lockout.locked_until:%Y-%m-%d %H:%M:%S}" if lockout.locked_until else ""

    @admin.display(description="failures came from (24 hours)")
    def sources(self, lockout: Lockout) -> str:
        found = [f"{address or 'unknown'}: {times}" for address, times in lockout.sources().items()]
        return ", ".join(found) or "nowhere"

    @admin.action(description="Clear: let these addresses sign in again", permissions=["change"])
    def clear(self, request: HttpRequest, queryset: QuerySet[Lockout]) -> None:
        emails = list(queryset.values_list("email", flat=True))
        actor = cast(trail.Actor, request.user)
        cleared = each(request, emails, lambda email: Lockout.objects.unlock(email, actor))
        self.message_user(request, f"Lockouts cleared: {cleared}.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Lockout | None = None) -> bool:
        """Cleared by the action, under its rule; the page is to be looked at."""
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Lockout | None = None) -> bool:
        return False
