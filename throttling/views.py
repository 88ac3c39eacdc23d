"""The base of every API view: a request is counted before anything else is done for it."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request
from rest_framework.utils.encoders import JSONEncoder
from rest_framework.views import APIView

from throttling.exceptions import LengthRequired, RequestTooLarge
from throttling.throttles import PublicThrottle, TierThrottle

# Made once: json.dumps would make an encoder for each answer.
encode = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def json_response(body: Any, status: int = 200) -> HttpResponse:
    """JSON in the compact form of DRF's renderer, without the renderer: for errors, and where each
    microsecond counts."""
    return HttpResponse(encode(body), content_type="application/json", status=status)


def check_body_size(request: HttpRequest) -> None:
    """Refuse a body by what its headers say, before a byte of it is read.

    Raises RequestTooLarge, or LengthRequired for a chunked body.
    """
    if "HTTP_TRANSFER_ENCODING" in request.META:
        raise LengthRequired
    if int(request.META.get("CONTENT_LENGTH") or 0) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        raise RequestTooLarge


class CountedView(APIView):
    """An APIView that throttles before it authenticates, parses or negotiates.

    DRF's own `initial` throttles last, so that bad tokens and odd Accept headers escape the count.
    The count's outcome is kept on the Django request as `rate_limit` (a
    `throttling.counter.Decision`); every answer of the view carries its headers, except a 429.
    """

    throttle_classes: Sequence[type[TierThrottle]] = [PublicThrottle]
    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    # DRF's Allow and Vary on every answer; config.errors says Allow where it belongs, on a 405.
    default_response_headers: dict[str, str] = {}

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Admit the request, then answer it. One that is refused costs no DRF request."""
        try:
            self.admit(request)
            response = self.answer(request, *args, **kwargs)
        except Exception as refusal:
            response = self.handle_exception(refusal)  # of Django's request
        decision = getattr(request, "rate_limit", None)
        if decision is not None and response.status_code != 429:
            for name, value in decision.headers().items():
                response[name] = value
        response.setdefault("Cache-Control", "no-store")
        return response

    def admit(self, request: HttpRequest) -> None:
        """Count the request, and refuse what its headers alone tell against; raises."""
        for throttle in self.throttle_classes:
            throttle().allow_request(request, self)
        request.get_host()  # raises DisallowedHost, which is a 400
        check_body_size(request)

    def answer(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The answer to an admitted request: DRF's."""
        response: HttpResponseBase = super().dispatch(request, *args, **kwargs)
        return response

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        """DRF's, without its search for an authenticator to name: the handler answers them all."""
        response: HttpResponse = self.get_exception_handler()(
            exc, self.get_exception_handler_context()
        )
        return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.format_kwarg = None
        negotiated = self.perform_content_negotiation(request)
        request.accepted_renderer, request.accepted_media_type = negotiated
        request.version = request.versioning_scheme = None
        self.perform_authentication(request)
        self.check_permissions(request)
