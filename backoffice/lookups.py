"""What a URL may ask of the back office: what its pages offer, and nothing else."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import BadRequest, ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from accounts.search import cut

prohibit_null = ProhibitNullCharactersValidator()


def check_key(column: Any, key: str) -> None:
    """Raise BadRequest for what cannot be a key of this column."""
    try:
        prohibit_null(key)
        column.clean(key, None)
    except ValidationError as error:
        raise BadRequest("no row's key") from error


class GuardedList(ChangeList):
    """A list that its filters, its dates and its search narrow.

    Django takes any field for a look-up: `?password__startswith=…` told whoever may look at users
    a password's hash, a character at a time. Whatever no filter has taken is refused here, and so
    is a value that none can read: SuspiciousOperation and BadRequest are 400s.
    """

    def get_filters(self, request: HttpRequest) -> Any:
        if any("\0" in value for values in self.filter_params.values() for value in values):
            raise BadRequest("NUL in a look-up")  # PostgreSQL would say so in the middle of a page
        found = super().get_filters(request)
        dates = {f"{self.date_hierarchy}__gte", f"{self.date_hierarchy}__lt"}
        for lookup in found[2].keys() - dates:  # what is left for Django to make a query of
            raise DisallowedModelAdminLookup(f"Filtering by {lookup} not allowed")
        return found

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        try:
            return super().get_queryset(request, exclude_parameters)
        except (IncorrectLookupParameters, ValidationError, ValueError, OverflowError) as error:
            raise BadRequest("a look-up's value") from error


class GuardedAdmin(admin.ModelAdmin):
    """What the site puts before every ModelAdmin that is registered with it."""

    show_facets = admin.ShowFacets.NEVER  # a count beside each filter reads the table once for each

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[ChangeList]:
        return GuardedList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Also what autocomplete finds."""
        return super().get_search_results(request, queryset, cut(search_term))

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new row's form is empty: Django's would look up what a URL names for it."""
        return {}

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        return None if "\0" in object_id else super().get_object(request, object_id, from_field)

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        for key in request.POST.getlist(ACTION_CHECKBOX_NAME):
            check_key(self.opts.pk, key)
        return super().response_action(request, queryset)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """A form that is shown again looks up what it has chosen of another table."""
        for name in self.get_autocomplete_fields(request):
            column: Any = self.opts.get_field(name)
            for key in filter(None, request.POST.getlist(name)):
                check_key(column.target_field, key)
        return super().changeform_view(request, *args, **kwargs)
