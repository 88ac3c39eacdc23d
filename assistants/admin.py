"""The admin site's pages of clients and grants, with actions that end grants."""

from operator import attrgetter
from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from assistants.models import Client, Grant
from base.admin import ReadOnlyAdmin


class GrantEndingAdmin(ReadOnlyAdmin):
    """Ends grants for staff with the permission to change them."""

    def has_end_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("assistants.change_grant")

    def end_all(self, request: HttpRequest, grants: QuerySet[Grant]) -> None:
        grants = grants.select_related("user__account", "client")
        self.apply_to_each(request, grants, Grant.end, "Ended access: {}.")


@admin.register(Grant)
class GrantAdmin(GrantEndingAdmin):
    history_key = attrgetter("user.email")
    list_display = ["user", "client", "host", "created_at", "redeemed_at", "used_at", "ended_at"]
    list_select_related = ["user", "client"]
    search_fields = ["user__email", "=client__name"]
    search_help_text = "Part of an address, or a client's full name."
    fields = ["user", "client", "redirect_uri", "created_at", "redeemed_at", "used_at", "ended_at"]
    actions = ["end"]
    asks_first: ClassVar[dict[str, str]] = {"end": "The app loses its access at once."}

    @admin.action(description="End access", permissions=["end"])
    def end(self, request: HttpRequest, queryset: QuerySet[Grant]) -> None:
        self.end_all(request, queryset)


@admin.register(Client)
class ClientAdmin(GrantEndingAdmin):
    list_display = ["name", "id", "url", "redirect_uris", "created_at"]
    search_fields = ["name", "=id"]
    search_help_text = "Part of the name, or the full client_id."
    fields = ["id", "name", "url", "redirect_uris", "created_at"]
    actions = ["end_grants"]
    asks_first: ClassVar[dict[str, str]] = {
        "end_grants": "The app loses the access of all its users at once."
    }

    @admin.action(description="End access for all users", permissions=["end"])
    def end_grants(self, request: HttpRequest, queryset: QuerySet[Client]) -> None:
        self.end_all(request, Grant.objects.filter(client__in=queryset, ended_at=None))
