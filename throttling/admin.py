"""The lockouts in the admin site: to look at, and to clear."""

from typing import Any, cast

from django.contrib import admin
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit import trail
from audit.admin import each
from throttling.models import Lockout


class LockedNowFilter(admin.SimpleListFilter):
    title = _("state")
    parameter_name = "locked"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, Any]]:
        return [("now", _("locked now"))]

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

    @admin.display(description=_("whose failures"))
    def whose(self, lockout: Lockout) -> str:
        return gettext("a known device") if lockout.device else gettext("strangers")

    @admin.display(description=_("state"))
    def state(self, lockout: Lockout) -> str:
        return gettext("LOCKED") if lockout.is_locked() else gettext("not locked")

    @admin.display(description=_("failed at (UTC)"), ordering="failed_at")
    def failed_at_utc(self, lockout: Lockout) -> str:
        return f"{lockout.failed_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description=_("locked until (UTC)"), ordering="locked_until")
    def locked_until_utc(self, lockout: Lockout) -> str:
        return f"{lockout.locked_until:%Y-%m-%d %H:%M:%S}" if lockout.locked_until else ""

    @admin.display(description=_("failures came from (24 hours)"))
    def sources(self, lockout: Lockout) -> str:
        unknown = gettext("unknown")
        found = [f"{address or unknown}: {times}" for address, times in lockout.sources().items()]
        return ", ".join(found) or gettext("nowhere")

    @admin.action(description=_("Clear: let these addresses sign in again"), permissions=["change"])
    def clear(self, request: HttpRequest, queryset: QuerySet[Lockout]) -> None:
        emails = list(queryset.values_list("email", flat=True))
        actor = cast(trail.Actor, request.user)
        cleared = each(request, emails, lambda email: Lockout.objects.unlock(email, actor))
        said = gettext("Lockouts cleared: %(count)s.") % {"count": cleared}
        self.message_user(request, said)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Lockout | None = None) -> bool:
        """Cleared by the action, under its rule; the page is to be looked at."""
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Lockout | None = None) -> bool:
        return False
