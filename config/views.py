"""What belongs to no app: the schema, the path that is a call and a page, the unknown path, and the
admin site's missing slash."""

from typing import Any, NoReturn

from django.http import HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.generic import RedirectView
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from accounts.views import AccountView
from config.schema.document import document
from pages.views import PageView
from throttling.views import CountedView

admin_slash = csrf_exempt(RedirectView.as_view(url="/admin/", permanent=True))


class SchemaView(CountedView):
    """GET /schema: the OpenAPI document."""

    @extend_schema(
        operation_id="getSchema", summary="This document", responses={200: OpenApiTypes.OBJECT}
    )
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(
            document(),
            content_type="application/json",
            headers={"Cache-Control": "public, max-age=60"},
        )


class NotFoundView(CountedView):
    """Any other path, by any method: counted in the public tier, then 404."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        super().initial(request, *args, **kwargs)
        raise NotFound("not found")  # DRF's own words would be translated first


class AccountOrPageView(AccountView):
    # No docstring: the schema would say it of the call. /account is a call and a page: whoever
    # comes with a token calls, a browser that just goes there is shown the page.

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        if request.method in {"GET", "HEAD"} and "HTTP_AUTHORIZATION" not in request.META:
            return PageView.as_view()(request, name="account")
        return super().dispatch(request, *args, **kwargs)
