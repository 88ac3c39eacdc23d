"""Base classes of the admin site and its pages: lists that count and search within bounds, actions
that ask for confirmation, and rows that staff can only view."""

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from itertools import product
from string import ascii_lowercase, ascii_uppercase
from typing import Any, ClassVar, cast
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied, SuspiciousOperation, ValidationError
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import DateField, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from rest_framework.exceptions import APIException

from base.emails import MAX_SEARCH_LENGTH, search_words
from base.text import unicode_forms

MAX_COUNTED_ROWS = 10_000  # counting a million rows would take longer than showing a hundred
MAX_CONFIRMATION_ROWS = 10  # rows listed on a confirmation page
# The form's fields that a confirmation page sends again: the action, and its rows.
REPEATED_FIELDS = ("action", "select_across", "index", "_do", ACTION_CHECKBOX_NAME)
Step = Callable[[Any, Any], object]  # takes the row and the acting user
LOWER_CASE = str.maketrans(ascii_uppercase, ascii_lowercase)  # of the letters of addresses


def count_of(rows: QuerySet[Model], limit: int = MAX_COUNTED_ROWS) -> int:
    """The number of rows; `limit` + 1 if there are more than `limit`."""
    return rows.order_by()[: limit + 1].count()


def format_count(count: int, limit: int = MAX_COUNTED_ROWS) -> str:
    """A result of `count_of` as text, such as "over 10,000"."""
    return f"over {limit:,}" if count > limit else f"{count:,}"


def badge(text: object, kind: str = "") -> str:
    """The text with a capital letter, in the colour of its `kind`: "good", "wait", "bad" or ""."""
    return format_html('<span class="badge" data-kind="{}">{}</span>', kind, capfirst(str(text)))


def address_or_name(row: Any) -> str:
    """The row's e-mail address, or its name if it has no address."""
    return getattr(row, "email", None) or str(row)


class BoundedPaginator(Paginator):
    """Counts MAX_COUNTED_ROWS rows at most. Lists show `count_as_text`."""

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
    """Base of the admin site whose pages are `OfficeAdmin`s."""

    history_page: ClassVar[str]  # URL name of the list of audit events, which `q` filters
    refusal: ClassVar[str]  # the message for a row on which the user may not act


class OfficeAdmin(admin.ModelAdmin):
    """Base of the models' lists and pages in the back office. No column of a list may make a query
    for each row."""

    admin_site: OfficeSite
    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # each would read the whole table
    list_per_page = 50
    heading = ""  # the list's title, if it isn't the model's name
    # The names of actions that ask for confirmation, each with what it would do.
    asks_first: ClassVar[dict[str, str]] = {}
    # The text of a row by which the audit log finds its events.
    history_key: Callable[[Any], object] = staticmethod(address_or_name)

    def list_title(self) -> str:
        return self.heading or capfirst(str(self.opts.verbose_name_plural))

    def heading_of(self, row: Any) -> str:
        """The row's name in pages and messages."""
        return str(row)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        context = {"title": self.list_title()} | (extra_context or {})
        return super().changelist_view(request, context)

    def lookup_allowed(self, lookup: str, value: str, request: Any = None) -> bool:
        """Whether the list's URL may filter by `lookup`, such as "kind__exact": only by a filter
        that the list offers, and without a NUL, which PostgreSQL refuses. Django allows all
        columns: with `?password__startswith=` staff could read a hash letter by letter."""
        offered_lookups = set()
        for entry in cast(list[Any], self.get_list_filter(request)):
            if isinstance(entry, str):
                is_date = isinstance(self.opts.get_field(entry), DateField)
                endings = ("gte", "lt") if is_date else ("exact", "isnull")
                offered_lookups |= {f"{entry}__{ending}" for ending in endings}
            else:
                offered_lookups.add(entry.parameter_name)
        return lookup in offered_lookups and "\0" not in value

    def has_superuser_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return request.user.is_superuser

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """The rows that match each of the `search_words` of the term, or whose value of a search
        field that begins with "=" is the whole term, and whether a row may be in them twice.
        Autocompletion also calls this."""
        # Stored addresses are in lower case. The lower case of other letters may be two characters.
        term = " ".join(search_words(search_term)).translate(LOWER_CASE)
        first_form, *other_forms = unicode_forms(term)
        rows, may_repeat = super().get_search_results(request, queryset, first_form)
        for form in other_forms:
            rows |= super().get_search_results(request, queryset, form)[0]
        # Django looks for each word by itself.
        whole_term = " ".join(search_term[:MAX_SEARCH_LENGTH].replace("\0", " ").split())
        search_fields = self.get_search_fields(request) if " " in whole_term else ()
        whole_fields = [name[1:] for name in search_fields if name.startswith("=")]
        for name, form in product(whole_fields, unicode_forms(whole_term)):
            rows |= queryset.filter((f"{name}__iexact", form))
        return rows, may_repeat

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {}  # Django would look up any row that the query string names

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        return None if "\0" in object_id else super().get_object(request, object_id, from_field)

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Run the action that the list's form names, on the selected rows of the queryset. Raises
        SuspiciousOperation (400) for a malformed id, on which the database would fail."""
        for pk in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                cast(Any, self.opts.pk).clean(pk, None)
            except ValidationError:
                raise SuspiciousOperation("malformed id") from None
        return super().response_action(request, queryset)

    def get_actions(self, request: HttpRequest) -> Any:
        """The actions that the user may run, each as (function, name, label), by name. An action in
        `asks_first` has its confirmation page as the function, unless that page's form was sent,
        which repeats the list's fields and adds `post=yes`."""
        actions: Any = super().get_actions(request)
        if request.POST.get("post") != "yes":
            for name in actions.keys() & self.asks_first.keys():
                label = actions[name][2]
                page = partial(OfficeAdmin.confirmation_page, name=name, label=label)
                actions[name] = (page, name, label)
        return actions

    def confirmation_page(
        self, request: HttpRequest, rows: QuerySet[Any], name: str, label: str
    ) -> HttpResponse:
        """The page that asks the user to confirm the action `name` of `asks_first`, shown as
        `label`, on these rows. It lists MAX_CONFIRMATION_ROWS of them."""
        context = self.admin_site.each_context(request) | {
            "title": f"{label}?",
            "consequence": self.asks_first[name],
            "count": rows.count(),
            "rows": rows[:MAX_CONFIRMATION_ROWS],
            "repeated": [
                (key, value) for key in REPEATED_FIELDS for value in request.POST.getlist(key)
            ],
            "label": label,
            "opts": self.opts,
        }
        return TemplateResponse(request, "base/confirmation.html", context)

    def apply_to_each(
        self, request: HttpRequest, rows: Iterable[Any], step: Step, message: str
    ) -> None:
        """Call step(row, user) for each row or other item of `rows`, in a transaction or savepoint
        of its own, and show messages to the user: each refused row with the reason; then, if a row
        was changed, `message`, in which {} stands for the first changed row's name and the number
        of further ones. A step returns False if it changed nothing, and raises PermissionDenied or
        an APIException to refuse the row."""
        changed, refusals = [], []
        for row in rows:
            try:
                with transaction.atomic():
                    if step(row, request.user) is not False:
                        changed.append(self.heading_of(row))
            except PermissionDenied:
                refusals.append(f"{self.heading_of(row)}: {self.admin_site.refusal}.")
            except APIException as error:
                refusals.append(f"{self.heading_of(row)}: {error.detail}.")
        for text in refusals:
            messages.error(request, text)
        if changed:
            further = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            messages.success(request, message.format(changed[0] + further))
        elif not refusals:
            messages.info(request, "Nothing to change.")

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """Redirect to the audit log, which replaces Django's own log, searched by `history_key`.
        Raises PermissionDenied, also if there is no such row."""
        row = self.get_object(request, unquote(object_id))
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
