"""Views of no app: the schema, and unknown paths."""

from typing import NoReturn

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from config.schema import document
from pages.views import asks_for_a_page, error_page
from throttling.views import CountedView


class SchemaView(CountedView):
    """OpenAPI 3.1. `/docs` shows it."""

    @extend_schema(
        operation_id="getSchema", summary="Get this document", responses={200: OpenApiTypes.OBJECT}
    )
    def get(self, request: Request) -> HttpResponse:
        headers = {"Cache-Control": "public, max-age=60"}
        return HttpResponse(document(), content_type="application/json", headers=headers)


class NotFoundView(CountedView):
    """Unknown paths, by any method: counted in the public tier, then 404, as a page in browsers."""

    schema = None

    def initial(self, request: Request, *args: object, **kwargs: object) -> NoReturn:
        super().initial(request, *args, **kwargs)
        raise NotFound("not found")  # DRF's own text would be translated first

    def handle_exception(self, exc: Exception) -> Response:
        answer = super().handle_exception(exc)
        if asks_for_a_page(self.request):
            return error_page(self.request, answer)  # type: ignore[return-value]
        return answer
