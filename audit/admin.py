"""The audit trail in the admin site: to search, filter and export, never to change."""

import csv
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from audit import trail
from audit.counting import MOST_COUNTED, count_of, said
from audit.models import Kind, Person, Record

COLUMNS = ["at", "kind", "actor_email", "actor_id", "subject", "account_id"]
COLUMNS += ["address", "agent", "request_id", "shell_user", "detail"]


class BoundedPaginator(Paginator):
    """Counts no further than MOST_COUNTED; whoever looks for more has filters. `said` is the count
    for the list to say."""

    @cached_property
    def counted(self) -> int:
        return count_of(cast(QuerySet[Record], self.object_list))

    @property
    def count(self) -> int:
        return min(self.counted, MOST_COUNTED)

    @property
    def said(self) -> str:
        return said(self.counted)


class DayFilter(admin.SimpleListFilter):
    """One of the past fourteen days (UTC), or any other as `?day=2026-11-21`."""

    title = _("day")
    parameter_name = "day"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        today = timezone.now().date()
        days = [(today - timedelta(days=n)).isoformat() for n in range(14)]
        return [(day, day) for day in days]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Record]) -> QuerySet[Record]:
        """ValueError or OverflowError for what is no day, which the site answers with a 400."""
        if not self.value():
            return queryset
        day = datetime.fromisoformat(f"{self.value()}T00:00:00+00:00")
        return queryset.filter(at__gte=day, at__lt=day + timedelta(days=1))


def cell(value: object) -> str:
    """The value as a spreadsheet shows it: one that begins like a formula is quoted."""
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def each(request: HttpRequest, rows: Iterable[Any], step: Callable[[Any], Any]) -> int:
    """Take an action's step with each row on its own; how many it was taken with. The rows on which
    the caller may not act are named as refused; a step that answers False has done nothing."""
    count = 0
    for row in rows:
        try:
            with transaction.atomic():
                count += step(row) is not False
        except PermissionDenied:
            refused = gettext("%(row)s: only a superuser changes operators.")
            messages.error(request, refused % {"row": row})
    return count


class Line:
    """What csv writes to: gives each line back instead of keeping it."""

    def write(self, line: str) -> str:
        return line


def newest_first(records: QuerySet[Record], chunk: int = 2000) -> Iterator[tuple[Any, ...]]:
    """The rows' id and COLUMNS, a chunk a query, each going on below the last id.

    One query over a large trail would be cut off: the web server waits two seconds for the
    database. What is recorded meanwhile is above the first id, and stays out.
    """
    rows = records.order_by("-pk").values_list("pk", *COLUMNS)
    page = list(rows[:chunk])
    while page:
        yield from page
        page = list(rows.filter(pk__lt=page[-1][0])[:chunk])


def csv_lines(records: QuerySet[Record]) -> Iterator[str]:
    write: Callable[[Any], str] = csv.writer(Line()).writerow
    yield write(COLUMNS)
    for row in newest_first(records):
        yield write([cell(value) for value in row[1:]])


@admin.register(Record)
class RecordAdmin(admin.ModelAdmin):
    list_display = ["at", "what", "actor_email", "subject", "address", "calls_itself"]
    list_filter = ["kind", DayFilter]
    # Addresses are canonical, so that a prefix is found by its index.
    search_fields = ["subject__startswith", "actor_email__startswith", "address__startswith"]
    search_help_text = _(
        "The beginning of an e-mail address (who did it, or whom it was done to) or of a client's "
        "address (IPv6: of its /64)."
    )
    ordering = ["-at", "-id"]
    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    actions = ["export"]

    @admin.display(description=_("kind"), ordering="kind")
    def what(self, record: Record) -> str:
        kind = record.get_kind_display()
        if "more_followed" not in record.detail:
            return kind
        return gettext("%(kind)s, and more followed within the hour") % {"kind": kind}

    @admin.display(description=_("program, as it calls itself"))
    def calls_itself(self, record: Record) -> str:
        return " · ".join(filter(None, [*record.detail.get("claims", {}).values(), record.agent]))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Record], search_term: str
    ) -> tuple[QuerySet[Record], bool]:
        return super().get_search_results(request, queryset, search_term.strip().lower())

    @admin.action(description=_("Export as CSV"), permissions=["view"])
    def export(self, request: HttpRequest, queryset: QuerySet[Record]) -> StreamingHttpResponse:
        trail.record(Kind.EXPORTED, actor=cast(Person, request.user))
        headers = {"Content-Disposition": 'attachment; filename="audit.csv"'}
        lines = csv_lines(queryset)
        return StreamingHttpResponse(lines, content_type="text/csv", headers=headers)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Record | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Record | None = None) -> bool:
        return False


class AuditedAdmin(admin.ModelAdmin):
    """A ModelAdmin whose every change is in the audit trail, in the transaction of the change."""

    def log_addition(self, request: HttpRequest, obj: Model, message: object) -> Any:
        self.record(Kind.ADMIN_ADDED, request, obj)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        if not message:  # saved as it was
            return None
        fields = [name for part in message for name in part.get("changed", {}).get("fields", [])]
        self.record(Kind.ADMIN_CHANGED, request, obj, fields=fields)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet) -> Any:
        for row in queryset:
            self.record(Kind.ADMIN_DELETED, request, row)
        return super().log_deletions(request, queryset)

    def record(self, kind: Kind, request: HttpRequest, row: Model, **detail: Any) -> None:
        trail.record(
            kind,
            actor=cast(Person, request.user),
            subject=str(row),
            account_id=getattr(row, "account_id", None),
            model=row._meta.label_lower,
            id=str(row.pk),
            **detail,
        )


class LargeTableAdmin(AuditedAdmin):
    """A long list: no query per row, and no count of more rows than anybody pages through."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50


class ReadOnlyAdmin(LargeTableAdmin):
    """What the service itself writes: to be looked at."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False
