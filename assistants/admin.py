"""Assistants in the admin site: which clients there are, whom they act for, and how to end that."""

from typing import Any, ClassVar, cast

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from assistants.models import Client, Grant, GrantQuerySet
from audit.admin import ReadOnlyAdmin, each


class LiveFilter(admin.SimpleListFilter):
    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, Any]]:
        return [("live", _("acts for its person")), ("over", _("over, or never begun"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet[Grant]:
        grants = cast(GrantQuerySet, queryset)
        if self.value() == "live":
            return grants.live()
        return grants.exclude(pk__in=Grant.objects.live()) if self.value() else grants


def end_all(request: HttpRequest, grants: QuerySet[Grant]) -> int:
    """End these grants; how many had not ended before."""
    actor = cast(User, request.user)
    found = grants.select_related("user__account", "client")
    return each(request, found, lambda grant: grant.end(actor=actor))


@admin.register(Grant)
class GrantAdmin(ReadOnlyAdmin):
    """No code and no token is to be seen: they are stored nowhere."""

    list_display = ["user", "client", "host", "created_at", "redeemed_at", "used_at", "ended_at"]
    list_select_related = ["user", "client"]
    list_filter = [LiveFilter]
    search_fields = ["user__email", "=client__name"]
    search_help_text = _("Part of an address, or a client's whole name.")
    fields = ["user", "client", "redirect_uri", "created_at", "redeemed_at", "used_at", "ended_at"]
    actions = ["end"]
    asks_first: ClassVar[dict[str, Any]] = {"end": _("The assistants are shut out at once.")}

    @admin.display(description=_("host"))
    def host(self, grant: Grant) -> str:
        return grant.host

    def has_end_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("assistants.change_grant")

    @admin.action(description=_("End: the assistant is shut out at once"), permissions=["end"])
    def end(self, request: HttpRequest, queryset: QuerySet[Grant]) -> None:
        said = gettext("Grants ended: %(count)s.") % {"count": end_all(request, queryset)}
        self.message_user(request, said)


@admin.register(Client)
class ClientAdmin(ReadOnlyAdmin):
    list_display = ["name", "id", "url", "redirect_uris", "created_at"]
    search_fields = ["name", "=id"]
    search_help_text = _("Part of the name, or the whole client_id.")
    fields = ["id", "name", "url", "redirect_uris", "created_at"]
    actions = ["end_grants"]
    asks_first: ClassVar[dict[str, Any]] = {"end_grants": _("It is shut out by everybody at once.")}

    def has_end_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("assistants.change_grant")

    @admin.action(description=_("End all that it was granted"), permissions=["end"])
    def end_grants(self, request: HttpRequest, queryset: QuerySet[Client]) -> None:
        ended = end_all(request, Grant.objects.filter(client__in=queryset, ended_at=None))
        said = gettext("Grants ended: %(count)s.") % {"count": ended}
        self.message_user(request, said)
