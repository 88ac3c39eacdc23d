"""GET /health: whether the service can serve, for load balancers; exempt from every limit."""

import threading
import time

from django.db import Error
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.published import published
from config.postgresql.breaker import breaker
from throttling import counter


class DatabaseLook:
    """One look at the database a second (at the published keys), shared by all callers of this
    process; none while the breaker is open, which looks by itself. Who comes during a look is told
    what the last one saw.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.good_until = float("-inf")
        self.answers = True

    def __call__(self) -> bool:
        if not breaker.is_open and self.lock.acquire(blocking=False):
            try:
                self.look_if_due()
            finally:
                self.lock.release()
        return self.answers and not breaker.is_open

    def look_if_due(self) -> None:
        if time.monotonic() >= self.good_until:
            self.answers = self.look()
            self.good_until = time.monotonic() + 1

    def look(self) -> bool:
        try:
            published.look()
        except Error:
            return False
        return True


database_answers = DatabaseLook()


class HealthView(APIView):
    """GET /health: 200 `{"status": "ok"|"degraded", "database", "limiter", "keys"}`; 503 where no
    database answers.

    It may be the one that finds a lost limiter store again, so that an idle service heals too.
    """

    schema = None
    http_method_names = ["get", "head"]
    default_response_headers = {"Cache-Control": "no-store"}

    def get(self, request: Request) -> Response:
        counter.probe()
        limiter = counter.state()
        if not database_answers():
            body = {"status": "unavailable", "database": "unavailable", "limiter": limiter}
            return Response(body | {"error": "service unavailable"}, 503)
        signing_keys = "ok" if published.all_here() else "missing"
        status = "ok" if limiter == signing_keys == "ok" else "degraded"
        body = {"status": status, "database": "ok", "limiter": limiter, "keys": signing_keys}
        return Response(body)
