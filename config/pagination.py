"""Pages of a list: `page` and `per_page` in, `items`, `page`, `per_page` and `total` out.

The contract: interface §8.
"""

from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response


def whole_number(request: Request, name: str, default: int) -> int:
    """A query parameter of 1 or more; ValidationError for anything else."""
    digits = request.query_params.get(name, str(default))[:20]
    if not digits.isascii() or not digits.isdigit() or int(digits) < 1:
        raise ValidationError({name: ["A whole number of 1 or more is expected."]})
    return int(digits)


class NumberedPagination(PageNumberPagination):
    """DRF's, with two queries for any page. A page past the end has no items; a bad number is a
    400, not a 404."""

    page_size = 20
    page_size_query_param = "per_page"
    max_page_size = 100
    page_query_description = "From 1; a page past the end has no items."
    page_size_query_description = f"From 1; more than {max_page_size} counts as {max_page_size}."

    def paginate_queryset(self, queryset: QuerySet, request: Request, view: object = None) -> Any:
        """The page as a slice of the queryset that is not loaded yet, or no rows at all."""
        self.number = whole_number(request, "page", 1)
        self.size = min(whole_number(request, "per_page", self.page_size), self.max_page_size)
        self.total = queryset.count()
        start = (self.number - 1) * self.size
        return queryset[start : start + self.size] if start < self.total else []

    def get_paginated_response(self, data: object) -> Response:
        counts = {"page": self.number, "per_page": self.size, "total": self.total}
        return Response({"items": data} | counts)

    def get_paginated_response_schema(self, schema: dict[str, object]) -> dict[str, object]:
        number = {"type": "integer", "minimum": 1}
        properties = {
            "items": schema,
            "page": number | {"example": 1},
            "per_page": number | {"maximum": self.max_page_size, "example": self.page_size},
            "total": {"type": "integer", "minimum": 0, "example": 1},
        }
        return {"type": "object", "properties": properties, "required": [*properties]}

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = super().get_schema_operation_parameters(view)
        return [part | {"schema": {"type": "integer", "minimum": 1}} for part in found]
