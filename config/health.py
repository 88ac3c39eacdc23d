"""GET /health: whether the service can serve, for load balancers; exempt from every limit.

The contract: interface §4. GET /health/live needs a thread and nothing else.
"""

from django.db import Error, connection
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from keys.cache import signing_keys
from throttling.limiter import limiter
from throttling.openapi import example
from throttling.views import JSONView

MOST_SECONDS_APART = 30  # of this host's clock and the database's


@example({"status": "ok", "database": "ok", "limiter": "ok", "keys": "ok"})
class Health(serializers.Serializer):
    """All but `error` with 200, all but `keys` with 503."""

    status = serializers.ChoiceField(["ok", "degraded", "unavailable"])
    database = serializers.ChoiceField(["ok", "unavailable"])
    limiter = serializers.ChoiceField(["ok", "fallback"])
    keys = serializers.ChoiceField(["ok", "missing"], required=False)
    error = serializers.CharField(required=False)


class UncountedView(JSONView):
    default_response_headers = {"Cache-Control": "no-store"}


class HealthView(UncountedView):
    """GET /health: whether the service can serve, and what is amiss.

    It asks Redis, so that an idle service finds out about an outage and its end.
    """

    @extend_schema(
        operation_id="getHealth",
        summary="Whether the service can serve",
        description="For load balancers. Exempt from every limit; no `x-ratelimit-*`. `degraded`: "
        "limits fall back, a signing key cannot be decrypted, or this host's clock is wrong.",
        responses={200: Health, 503: OpenApiResponse(Health, "The database is unreachable.")},
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
        is_on_time = abs(signing_keys.seconds_ahead) <= MOST_SECONDS_APART
        status = "ok" if limits == keys == "ok" and is_on_time else "degraded"
        return Response({"status": status, "database": "ok", "limiter": limits, "keys": keys})


class LiveView(UncountedView):
    """GET /health/live: a thread answers. It says nothing of the database or Redis, whose outage
    would not end if this process were restarted."""

    schema = None

    def get(self, request: Request) -> Response:
        return Response({"status": "ok"})
