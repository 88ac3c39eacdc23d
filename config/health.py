"""GET /health: whether the service works, for load balancers; exempt from every limit.

The contract: interface §4. GET /health/live only needs a free thread.
"""

from django.db import Error, connection
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from keys.cache import signing_keys
from throttling.limiter import limiter
from throttling.views import JSONView


class UncountedView(JSONView):
    default_response_headers = {"Cache-Control": "no-store"}


class HealthView(UncountedView):
    """GET /health: whether the service works, and what is wrong.

    It asks Redis, so that an idle service notices an outage and its end.
    """

    @extend_schema(
        operation_id="getHealth",
        summary="Check the service's health",
        description="For load balancers; exempt from every limit. `status` is `ok`, `degraded` "
        "(limits fall back, a signing key cannot be decrypted, or this host's clock is wrong) or, "
        "with 503, `unavailable`. `database`, `limiter` and `keys` say what is wrong.",
        responses=dict.fromkeys([200, 503], OpenApiTypes.OBJECT),
    )
    def get(self, request: Request) -> Response:
        limits = limiter.state()
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            keys = "missing" if signing_keys.unreadable() else "ok"
        except Error:
            body = {"status": "unavailable", "database": "unavailable", "limiter": limits}
            return Response(body | {"error": "service unavailable"}, 503)
        is_on_time = abs(signing_keys.seconds_ahead) <= 30  # of the database's clock
        status = "ok" if limits == keys == "ok" and is_on_time else "degraded"
        return Response({"status": status, "database": "ok", "limiter": limits, "keys": keys})


class LiveView(UncountedView):
    """GET /health/live: whether a thread answers. The database and Redis don't matter: restarting
    this process would not end their outage."""

    schema = None

    def get(self, request: Request) -> Response:
        return Response({"status": "ok"})
