"""The admin site's base classes."""

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from typing import Any, ClassVar, cast
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import PermissionDenied, SuspiciousOperation, ValidationError
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import DateField, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst
from rest_framework.exceptions import APIException

from base.emails import search_words

MAX_COUNTED_ROWS = (
    10_000  # rows; counting a million of them would take longer than showing a hundred
)
MAX_CONFIRMATION_ROWS = 10  # rows listed on a confirmation page
# Form values that a confirmation page sends again: the action, and its rows.
REPEATED_FIELDS = ("action", "select_across", "index", "_do", ACTION_CHECKBOX_NAME)
Step = Callable[[Any, Any], object]


def count_of(rows: QuerySet[Model], most: int = MAX_COUNTED_ROWS) -> int:
    """The number of rows, at most `most` + 1."""
    return rows.order_by()[: most + 1].count()


def format_count(count: int, most: int = MAX_COUNTED_ROWS) -> str:
    """A `count_of` as text."""
    return f"over {most:,}" if count > most else f"{count:,}"


class BoundedPaginator(Paginator):
    """Counts no further than MAX_COUNTED_ROWS; `count_as_text` is the count as text."""

    @cached_property
    def bounded_count(self) -> int:
        return count_of(cast(QuerySet[Model], self.object_list))

    @property
    def count(self) -> int:
        return min(self.bounded_count, MAX_COUNTED_ROWS)

    @property
    def count_as_text(self) -> str:
        return format_count(self.bounded_count)


class OfficeSite(admin.AdminSite):
    """Base of the site that shows `OfficeAdmin`s."""

    history_page: ClassVar[str]  # URL name of the list that finds a row's events by `q`
    refusal: ClassVar[str]  # why the caller may not apply an action to a row


class OfficeAdmin(admin.ModelAdmin):
    """Base of every list and page of the back office. Lists make no query per row, and count
    MAX_COUNTED_ROWS rows at most."""

    admin_site: OfficeSite
    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would read the whole table
    list_per_page = 50
    heading = ""  # of the list, where the model's name won't do
    # Actions that ask for confirmation, and their consequences in words.
    asks_first: ClassVar[dict[str, str]] = {}
    history_key: Callable[[Any], object] = str  # finds a row's events in the audit log

    def list_title(self) -> str:
        return self.heading or capfirst(str(self.opts.verbose_name_plural))

    def heading_of(self, row: Any) -> str:
        """What pages and messages call the row."""
        return str(row)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        context = {"title": self.list_title()} | (extra_context or {})
        return super().changelist_view(request, context)

    def lookup_allowed(self, lookup: str, value: str, request: Any = None) -> bool:
        """Allow only what the list's filters offer. Django would allow every column of the model:
        with `?password__startswith=` an operator could read a password's hash, letter by letter."""
        offered = set()
        for entry in cast(list[Any], self.get_list_filter(request)):
            if isinstance(entry, str):
                is_date = isinstance(self.opts.get_field(entry), DateField)
                looks = ("gte", "lt") if is_date else ("exact", "isnull")
                offered |= {f"{entry}__{look}" for look in looks}
            else:
                offered.add(entry.parameter_name)
        return lookup in offered and "\0" not in value

    def has_superuser_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return request.user.is_superuser

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search in lower case, as addresses are; also for autocompletion."""
        words = " ".join(search_words(search_term)).lower()
        return super().get_search_results(request, queryset, words)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {}  # Django would look up any row that the query string names

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        return None if "\0" in object_id else super().get_object(request, object_id, from_field)

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Run the action. Raises SuspiciousOperation (400) for an id that no row can have, which
        Django would hand to the database."""
        for pk in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                cast(Any, self.opts.pk).clean(pk, None)
            except ValidationError:
                raise SuspiciousOperation("malformed id") from None
        return super().response_action(request, queryset)

    def get_actions(self, request: HttpRequest) -> Any:
        """Actions in `asks_first` ask for confirmation first."""
        actions: Any = super().get_actions(request)
        if request.POST.get("post") != "yes":
            for name in actions.keys() & self.asks_first.keys():
                words = actions[name][2]
                page = partial(OfficeAdmin.confirmation_page, name=name, words=words)
                actions[name] = (page, name, words)
        return actions

    def confirmation_page(
        self, request: HttpRequest, rows: QuerySet[Any], name: str, words: str
    ) -> HttpResponse:
        context = self.admin_site.each_context(request) | {
            "title": f"{words}?",
            "consequence": self.asks_first[name],
            "count": rows.count(),
            "rows": rows[:MAX_CONFIRMATION_ROWS],
            "repeated": [
                (key, value) for key in REPEATED_FIELDS for value in request.POST.getlist(key)
            ],
            "words": words,
            "opts": self.opts,
        }
        return TemplateResponse(request, "base/confirmation.html", context)

    def apply_to_each(
        self, request: HttpRequest, rows: Iterable[Any], step: Step, message: str
    ) -> None:
        """Apply an action's step to each row, in its own transaction, and report the outcome.

        A step takes the row and the acting user, and returns False if it changed nothing. In
        `message`, {} stands for the rows' names; each refused row gets a message with the reason.
        """
        done, refused = [], []
        for row in rows:
            try:
                with transaction.atomic():
                    if step(row, request.user) is not False:
                        done.append(self.heading_of(row))
            except PermissionDenied:
                refused.append(f"{self.heading_of(row)}: {self.admin_site.refusal}.")
            except APIException as refusal:
                refused.append(f"{self.heading_of(row)}: {refusal.detail}.")
        for text in refused:
            messages.error(request, text)
        if done:
            more = f" and {len(done) - 1} more" if len(done) > 1 else ""
            messages.success(request, message.format(done[0] + more))
        elif not refused:
            messages.info(request, "Nothing to change.")

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """The audit log, since Django's own log would repeat it."""
        row = self.get_object(request, object_id)
        if row is None or not self.has_view_or_change_permission(request, row):
            raise PermissionDenied
        query = urlencode({"q": self.history_key(row)})
        return redirect(f"{reverse(self.admin_site.history_page)}?{query}")


class ReadOnlyAdmin(OfficeAdmin):
    """Rows that staff can view but not edit."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False
