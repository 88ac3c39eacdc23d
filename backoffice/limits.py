"""The page of rate limits, and of networks with a credential limit of their own."""

from operator import attrgetter
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse

from backoffice.pages import EditableAdmin
from throttling.models import NetworkLimit

TIER_TEXTS = {  # what each tier counts
    "AUTHENTICATED": "Calls of a signed-in user",
    "PUBLIC": "Other calls and pages, for each client address",
    "CREDENTIAL": "Credential calls (passwords, links, refreshes), for each client address",
    "SCIM": "Provisioning, for each API key",
    "CHECK": "Questions of proxies about requests to other services (GET /auth/check)",
}


@admin.register(NetworkLimit)
class NetworkLimitAdmin(EditableAdmin):
    """Only superusers can change rows, whatever permissions other staff have."""

    heading = "Limits"
    history_key = attrgetter("network")
    list_display = ["network", "limit"]
    change_list_template = "backoffice/limits.html"
    has_add_permission = has_delete_permission = EditableAdmin.has_superuser_permission

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        limits = [
            (calls, getattr(settings, f"RATE_LIMIT_{tier}")) for tier, calls in TIER_TEXTS.items()
        ]
        context = {"limits": limits, "window": settings.RATE_LIMIT_WINDOW_SECONDS}
        return super().changelist_view(request, context | (extra_context or {}))
