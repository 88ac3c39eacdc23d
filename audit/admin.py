"""The audit log in the admin site, and its export as CSV."""

import codecs
import csv
import json
import re
from contextlib import suppress
from typing import cast
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

import audit
from audit.actors import Actor
from audit.models import AuditEvent, Kind
from base.admin import MAX_COUNTED_ROWS, ReadOnlyAdmin, format_count
from base.caller import browser_and_system

EXPORT_COLUMNS = ["at", "kind", "actor_email", "actor_id", "subject", "subject_id", "account_id"]
EXPORT_COLUMNS += ["address", "agent", "request_id", "shell_user", "detail"]
FORMULA = re.compile(r"(?:^|(?<=[;\t\r\n]))(?=\s*[=+@-])|^(?=[\t\r])")


def quote_formula(value: object) -> str:
    """The value as text, with an apostrophe before what spreadsheets would run: a formula (=, +, -
    or @) at the beginning or after a semicolon, tab or line break, and a leading tab or CR."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
    return FORMULA.sub("'", "" if text is None else str(text))


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    heading = "Audit log"
    list_display = ["at", "kind_label", "actor_email", "subject", "address", "client_claim"]
    list_filter = ["kind", "at"]
    # Stored addresses are canonical, so that an index finds a prefix.
    search_fields = ["subject__startswith", "actor_email__startswith", "address__startswith"]
    search_help_text = (
        "The beginning of an e-mail address (of the actor or the person affected), a name or a "
        "client address (IPv6: of its /64 network), or a company's ID."
    )
    ordering = ["-at", "-id"]
    actions = ["export"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AuditEvent], search_term: str
    ) -> tuple[QuerySet[AuditEvent], bool]:
        """Also finds events whose subject, such as a name, begins with the term as typed, since the
        inherited search canonicalises its words, or whose company or subject has the term as its
        ID."""
        events, may_repeat = super().get_search_results(request, queryset, search_term)
        if text := search_term.strip():
            events |= queryset.filter(subject__startswith=text)
        with suppress(ValueError):
            events |= queryset.filter(Q(account_id=UUID(text)) | Q(subject_id=UUID(text)))
        return events, may_repeat

    @admin.display(description="kind", ordering="kind")
    def kind_label(self, event: AuditEvent) -> str:
        return event.get_kind_display()

    @admin.display(description="client")
    def client_claim(self, event: AuditEvent) -> str:
        """What the app says about itself, and the browser: "Chrome on Linux"; an agent without one,
        such as a command, as it is."""
        agent = " on ".join(filter(None, browser_and_system(event.agent))) or event.agent
        return " · ".join(filter(None, [*event.detail.get("claims", {}).values(), agent]))

    @admin.action(description="Export as CSV", permissions=["view"])
    def export(self, request: HttpRequest, queryset: QuerySet[AuditEvent]) -> HttpResponse | None:
        """Answer with the selected events as CSV, the newest first, and record the export. More
        than MAX_COUNTED_ROWS, which one query could not read in time, are refused by a message."""
        rows = list(queryset.order_by("-pk").values_list(*EXPORT_COLUMNS)[: MAX_COUNTED_ROWS + 1])
        if len(rows) > MAX_COUNTED_ROWS:
            text = f"These are {format_count(len(rows))} events. Filter the list, or export by SQL."
            messages.error(request, text)
            return None
        audit.record(Kind.EXPORTED, actor=cast(Actor, request.user))
        headers = {"Content-Disposition": 'attachment; filename="audit.csv"'}
        # Excel knows UTF-8 by its BOM.
        response = HttpResponse(codecs.BOM_UTF8, content_type="text/csv", headers=headers)
        quoted = (map(quote_formula, row) for row in rows)
        csv.writer(response).writerows([EXPORT_COLUMNS, *quoted])
        return response
