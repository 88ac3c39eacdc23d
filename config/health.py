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
    status = serializers.ChoiceField(["ok", "degraded"])
    database = serializers.ChoiceField(["ok"])
    limiter = serializers.ChoiceField(["ok", "fallback"])
    keys = serializers.ChoiceField(["ok", "missing"], help_text="`missing`: one is unreadable.")


class Unhealthy(serializers.Serializer):
    error = serializers.ChoiceField(["service unavailable"])
    status = serializers.ChoiceField(["unavailable"])
    database = serializers.ChoiceField(["unavailable"])
    limiter = serializers.ChoiceField(["ok", "fallback"])


class UncountedView(JSONView):
    http_method_names = ["get", "head"]
    default_response_headers = {"Cache-Control": "no-store"}


class HealthView(UncountedView):
    """GET /health: whether the service can serve, and what is amiss.

    It asks Redis, so that an idle service finds out about an outage and its end.
    """

    @extend_schema(
        operation_id="getHealth",
        summary="Whether the service can serve",
        description="For load balancers. Exempt from every limit; no `x-ratelimit-*`.",
        responses={
            200: OpenApiResponse(
                Health,
                "It can; `degraded` while limits fall back, a signing key cannot be decrypted, or "
                "this host's clock is over 30 seconds off the database's.",
            ),
            503: OpenApiResponse(Unhealthy, "The database is unreachable."),
        },
    )
    def get(self, request: Request) -> Response:
        limits = limiter.state()
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            keys = "missing" if signing_keys.unreadable() else "ok"
        except Error:
            found = {"status": "unavailable", "database": "unavailable", "limiter": limits}
            return Response(Unhealthy(found | {"error": "service unavailable"}).data, 503)
        is_on_time = abs(signing_keys.seconds_ahead) <= MOST_SECONDS_APART
        is_well = limits == keys == "ok" and is_on_time
        found = {"status": "ok" if is_well else "degraded", "database": "ok"}
        return Response(Health(found | {"limiter": limits, "keys": keys}).data)


class LiveView(UncountedView):
    """GET /health/live: a thread answers. It says nothing of the database or Redis, whose outage
    would not end if this process were restarted."""

    schema = None

    def get(self, request: Request) -> Response:
        return Response({"status": "ok"})
