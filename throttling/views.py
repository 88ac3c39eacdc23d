"""The base of every API view: a request is counted before anything else is done for it."""

from collections.abc import Sequence

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from throttling.exceptions import LengthRequired, RequestTooLarge
from throttling.limiter import Decision
from throttling.throttles import PublicThrottle, TierThrottle


def check_body_size(request: Request) -> None:
    """Refuse a body by what its headers say, before a byte of it is read.

    Raises RequestTooLarge, or LengthRequired for a chunked body.
    """
    if "HTTP_TRANSFER_ENCODING" in request.META:
        raise LengthRequired
    if int(request.META.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise RequestTooLarge


class CountedRequest(Request):
    """For type checkers: what a CountedView's request holds once it is counted."""

    rate_limit: Decision
    rate_limit_tier: str | None


class CountedView(APIView):
    """An APIView that throttles before it negotiates, authenticates or parses.

    DRF's own `initial` throttles last, so that bad tokens and odd Accept headers escape the count.
    The count's outcome is kept on the request as `rate_limit` (a `throttling.limiter.Decision`);
    every answer of the view carries its headers, except a 429.
    """

    throttle_classes: Sequence[type[TierThrottle]] = [PublicThrottle]
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    # DRF's Allow and Vary on every answer; config.errors says Allow where it belongs, on a 405.
    default_response_headers: dict[str, str] = {}

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Count the request and refuse what its headers tell against; then as DRF does.

        DRF's own look at the throttles finds the request counted, and counts it no second time.
        """
        self.check_throttles(request)
        request.get_host()  # raises DisallowedHost, which is a 400
        check_body_size(request)
        super().initial(request, *args, **kwargs)

    def count_one_more(self, request: CountedRequest) -> None:
        """Count as a further request what one request asks for again. Raises what refuses it."""
        request.rate_limit_tier = None
        self.check_throttles(request)

    def finalize_response(
        self, request: Request, response: Response, *args: object, **kwargs: object
    ) -> Response:
        """DRF's, and the headers that tell the caller its limit."""
        response = super().finalize_response(request, response, *args, **kwargs)
        decision = getattr(request, "rate_limit", None)
        if decision is not None and response.status_code != 429:
            for name, value in decision.headers().items():
                response.headers[name] = value
        response.headers.setdefault("Cache-Control", "no-store")
        return response
