"""GET /health: whether the service can serve, for load balancers; exempt from every limit.

The contract: interface §4, decisions §3.
"""

import threading
import time

from django.db import Error, connection
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from keys.cache import signing_keys
from throttling.limiter import limiter
from throttling.openapi import example


class DatabaseLook:
    """One look at the database a second, shared by all callers of this process; those who come
    during a look are told what the last one saw.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.good_until = float("-inf")
        self.answers = True

    def __call__(self) -> bool:
        if self.lock.acquire(blocking=False):
            try:
                self.probe_if_due()
            finally:
                self.lock.release()
        return self.answers

    def probe_if_due(self) -> None:
        if time.monotonic() >= self.good_until:
            self.answers = self.probe()
            self.good_until = time.monotonic() + 1

    def probe(self) -> bool:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
            signing_keys.current()
        except Error:
            return False
        return True


database_answers = DatabaseLook()


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


class HealthView(APIView):
    """GET /health: whether the service can serve, and what is amiss.

    It asks Redis, so that an idle service finds out about an outage and its end.
    """

    http_method_names = ["get", "head"]
    default_response_headers = {"Cache-Control": "no-store"}

    @extend_schema(
        operation_id="getHealth",
        summary="Whether the service can serve",
        description="For load balancers. Exempt from every limit; no `x-ratelimit-*`.",
        responses={
            200: OpenApiResponse(
                Health,
                "It can; `degraded` while limits fall back, or a signing key cannot be decrypted.",
            ),
            503: OpenApiResponse(Unhealthy, "The database is unreachable."),
        },
    )
    def get(self, request: Request) -> Response:
        counting = limiter.state()
        if not database_answers():
            found = {"status": "unavailable", "database": "unavailable", "limiter": counting}
            return Response(Unhealthy(found | {"error": "service unavailable"}).data, 503)
        keys = "missing" if signing_keys.unreadable() else "ok"
        status = "ok" if counting == keys == "ok" else "degraded"
        found = {"status": status, "database": "ok", "limiter": counting, "keys": keys}
        return Response(Health(found).data)
