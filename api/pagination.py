"""Pages of a list (interface §8). A query may have `page` and `per_page`; the answer has `items`,
both numbers, and `total`."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response


class PageSerializer(serializers.Serializer):
    page = serializers.IntegerField(min_value=1, default=1)
    per_page = serializers.IntegerField(min_value=1, default=20)


class NumberedPagination(PageNumberPagination):
    """DRF's pagination, but a page past the end is empty instead of a 404, and an invalid number is
    a 400."""

    page_size_query_param = "per_page"
    page_query_description = "From 1; a page past the end has no items."
    page_size_query_description = "From 1; more than 100 counts as 100."

    def paginate_queryset(self, queryset: QuerySet, request: Request, view: Any = None) -> Any:
        """The page that the query asks for, as a lazy slice of the queryset. Keeps its numbers for
        `get_paginated_response`. The view is a CountedView. Raises DRF's ValidationError for an
        invalid `page` or `per_page`."""
        query = view.validated_query(PageSerializer)
        page, size, total = query["page"], min(query["per_page"], 100), queryset.count()
        self.counts = {"page": page, "per_page": size, "total": total}
        return queryset[(page - 1) * size : min(page * size, total)]

    def get_paginated_response(self, data: object) -> Response:
        return Response({"items": data} | self.counts)

    def get_paginated_response_schema(self, schema: dict[str, object]) -> dict[str, object]:
        number = {"type": "integer", "example": 1}
        properties = {"items": schema, "page": number, "per_page": number, "total": number}
        return {"type": "object", "properties": properties, "required": [*properties]}
