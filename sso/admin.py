"""The list of companies' providers in the back office, where superusers switch them off."""

from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from base.admin import ReadOnlyAdmin
from sso.models import IdentityProvider


@admin.register(IdentityProvider)
class IdentityProviderAdmin(ReadOnlyAdmin):
    heading = "Companies' providers"
    list_display = ["account", "issuer", "active", "required", "last_problem", "failing_since"]
    list_display += ["stopped_at"]
    list_select_related = ["account"]
    list_filter = ["active", "required"]
    search_fields = ["account__name", "issuer"]
    search_help_text = "Part of a company's name or of the issuer."
    fields = ["account", "issuer", "client_id", "active", "required", "creates_users"]
    fields += ["trusts_emails", "configured_at", "tested_at"]
    fields += ["last_problem", "last_problem_at", "stopped_at"]
    actions = ["stop", "allow"]
    asks_first: ClassVar[dict[str, str]] = {
        "stop": (
            "Nobody can sign in there until you allow it again and an admin of the company "
            "switches it on. Its users sign in by password; those without one ask for a link."
        )
    }

    def heading_of(self, row: IdentityProvider) -> str:
        return str(row.account)

    @admin.action(description="Switch off", permissions=["superuser"])
    def stop(self, request: HttpRequest, queryset: QuerySet[IdentityProvider]) -> None:
        self.apply_to_each(request, queryset, IdentityProvider.stop, "Switched off: {}.")

    @admin.action(description="Allow again", permissions=["superuser"])
    def allow(self, request: HttpRequest, queryset: QuerySet[IdentityProvider]) -> None:
        self.apply_to_each(request, queryset, IdentityProvider.allow, "Allowed again: {}.")
