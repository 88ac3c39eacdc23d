"""Views that belong to no app: health, the OpenAPI document, and unknown paths."""

import functools
import time
from typing import NoReturn

from django.db import Error
from django.http import Http404, HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User
from api.schema import openapi_json
from api.views import BaseView, CountedView
from keys.cache import signing_keys
from pages.views import asks_for_a_page, error_page
from throttling.limiter import limiter


@functools.lru_cache(maxsize=1)
def could_read_users(second: int) -> bool:
    """Whether the database answers a query for a user. Pass `time.monotonic()` in whole seconds,
    the cache's key: a process asks the database at most once a second."""
    try:
        User.objects.require_readable()
    except Error:
        return False
    return True


class HealthView(BaseView):
    """GET /health: whether the service works, and what is wrong. The calls ask Redis, so that an
    idle service notices an outage and its end."""

    default_response_headers = {"Cache-Control": "no-store"}

    @extend_schema(
        operation_id="getHealth",
        summary="Check the service's health",
        description="For load balancers; exempt from every limit. `status` is `ok`, `degraded` "
        "(limits fall back, a signing key cannot be decrypted, or this host's clock is wrong) or, "
        "with 503, `unavailable`. `limiter` is `ok` or `fallback`, `keys` `ok` or `missing`; "
        "without any key, `database` is `unavailable` too.",
        responses={200: dict, 503: dict},
    )
    def get(self, request: Request) -> Response:
        limits = limiter.redis_state()
        if not could_read_users(int(time.monotonic())) or not signing_keys.keys:
            body = {"status": "unavailable", "database": "unavailable", "limiter": limits}
            return Response(body | {"error": "service unavailable"}, 503)
        keys = "missing" if signing_keys.unreadable_kids() else "ok"
        is_clock_right = abs(signing_keys.seconds_ahead) <= 30  # compared with the database's clock
        status = "ok" if limits == keys == "ok" and is_clock_right else "degraded"
        return Response({"status": status, "database": "ok", "limiter": limits, "keys": keys})


class LiveView(BaseView):
    """GET /health/live: whether this process answers. It asks neither the database nor Redis, since
    restarting this process would not end their outages."""

    schema = None

    def get(self, request: Request) -> Response:
        return Response({"status": "ok"}, headers={"Cache-Control": "no-store"})


class SchemaView(CountedView):
    """OpenAPI 3.1. `/docs` shows it."""

    @extend_schema(operation_id="getSchema", summary="Get this document", responses={200: dict})
    def get(self, request: Request) -> HttpResponse:
        headers = {"Cache-Control": "public, max-age=60"}
        return HttpResponse(openapi_json(), content_type="application/json", headers=headers)


class NotFoundView(CountedView):
    """Answers any method on an unknown path with 404, in browsers as a page. The request counts in
    the public tier."""

    schema = None

    def initial(self, request: Request, *args: object, **kwargs: object) -> NoReturn:
        super().initial(request, *args, **kwargs)
        raise Http404

    def handle_exception(self, exc: Exception) -> Response:
        answer = super().handle_exception(exc)
        if asks_for_a_page(self.request):
            return error_page(self.request, answer)  # type: ignore[return-value]
        return answer
