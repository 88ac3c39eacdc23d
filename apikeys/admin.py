"""API keys in the back office: which there are, and revoking one."""

from operator import attrgetter
from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from apikeys.models import ApiKey
from base.admin import ReadOnlyAdmin


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    history_key = attrgetter("pk")
    list_display = ["__str__", "account", "scopes", "created_by", "last_used_at", "expires_at"]
    list_display += ["revoked_at", "last_problem", "last_problem_at"]
    list_select_related = ["account", "created_by"]
    search_fields = ["name", "account__name"]
    search_help_text = "Part of the key's or the company's name."
    fields = ["account", "name", "scopes", "last_four", "created_by", "created_at", "expires_at"]
    fields += ["last_used_at", "revoked_at", "last_problem", "last_problem_at"]
    actions = ["revoke"]
    asks_first: ClassVar[dict[str, str]] = {
        "revoke": "Programs that use it are refused at once. Its open invitations are revoked."
    }

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("apikeys.change_apikey")

    @admin.action(description="Revoke", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        self.apply_to_each(request, queryset, ApiKey.revoke, "{} was revoked.")
