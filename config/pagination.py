"""Pages of a list: `page` and `per_page` in, `items`, `page`, `per_page` and `total` out.

The contract: interface §8, decisions §3.
"""

from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response

PER_PAGE = 20
MOST_PER_PAGE = 100


def whole_number(request: Request, name: str, default: int) -> int:
    """A query parameter of 1 or more; ValidationError for anything else."""
    digits = request.query_params.get(name, str(default))
    if not digits.isascii() or not digits.isdigit() or int(digits[:20]) < 1:
        raise ValidationError({name: ["A whole number of 1 or more is expected."]})
    return int(digits[:20])


class NumberedPagination(BasePagination):
    """Two queries for any page: the count and the rows. A page past the end has no items."""

    def paginate_queryset(self, queryset: QuerySet, request: Request, view: object = None) -> Any:
        """The page as a slice of the queryset that is not loaded yet, or no rows at all."""
        self.page = whole_number(request, "page", 1)
        self.per_page = min(whole_number(request, "per_page", PER_PAGE), MOST_PER_PAGE)
        self.total = queryset.count()
        start = (self.page - 1) * self.per_page
        if start >= self.total:
            return []
        return queryset[start : start + self.per_page]

    def get_paginated_response(self, data: object) -> Response:
        return Response(
            {"items": data, "page": self.page, "per_page": self.per_page, "total": self.total}
        )

    def get_paginated_response_schema(self, schema: dict[str, object]) -> dict[str, object]:
        most = {"maximum": MOST_PER_PAGE}
        return {
            "type": "object",
            "properties": {
                "items": schema,
                "page": {"type": "integer", "minimum": 1, "example": 1},
                "per_page": {"type": "integer", "minimum": 1, **most, "example": PER_PAGE},
                "total": {"type": "integer", "minimum": 0, "example": 1},
            },
            "required": ["items", "page", "per_page", "total"],
        }

    def get_schema_operation_parameters(self, view: object) -> list[dict[str, object]]:
        described = {
            "page": "A page past the end has no items.",
            "per_page": f"More than {MOST_PER_PAGE} counts as {MOST_PER_PAGE}.",
        }
        defaults = {"page": 1, "per_page": PER_PAGE}
        return [
            {
                "name": name,
                "in": "query",
                "required": False,
                "schema": {"type": "integer", "minimum": 1, "default": defaults[name]},
                "description": description,
            }
            for name, description in described.items()
        ]
