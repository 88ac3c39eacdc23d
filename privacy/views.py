"""GET /auth/me/data: all that is stored on the caller."""

from collections.abc import Iterator

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated

from accounts.generics import ProtectedView, SignedInRequest, valid_query
from accounts.models import User
from audit import trail
from audit.models import Kind
from privacy.export import MOST_EVENTS, export
from privacy.models import ExportUnderWay
from throttling.errors import TooManyAttempts
from throttling.views import CredentialThrottle

PARTS = ["consultant", "manages", "assistants", "invitations_sent", "mails", "locks_and_devices"]
EXAMPLE: dict[str, object] = {
    "profile": {"email": "ada@example.com", "first_name": "Ada"},
    "links": {},
    "trail": [],
}
EXAMPLE |= {key: [] for key in PARTS} | {"next": None}


class DataQuerySerializer(serializers.Serializer):
    before = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        help_text="`next` of the answer before: older events, and nothing else.",
    )


class DataView(ProtectedView):
    """GET /auth/me/data: one at a time for each user."""

    throttle_classes = [CredentialThrottle]

    @extend_schema(
        operation_id="getMyData",
        summary="All that is stored on the caller",
        description="Profile, company, devices, assistants, links, mails' kinds and times, and the "
        "newest 10,000 events of the audit log; with `next` as `before`, the older ones. One call "
        "at a time; another is answered 429.",
        parameters=[DataQuerySerializer],
        responses={200: OpenApiTypes.OBJECT},
        examples=[OpenApiExample("example", EXAMPLE, response_only=True, status_codes=["200"])],
    )
    def get(self, request: SignedInRequest) -> StreamingHttpResponse:
        before = valid_query(DataQuerySerializer, request).get("before")
        user = request.user
        if not ExportUnderWay.objects.begin(user):
            raise TooManyAttempts
        try:
            trail.record(Kind.DATA_EXPORTED, actor=user)
            parts = export(user, before, MOST_EVENTS)
        except BaseException as error:
            ExportUnderWay.objects.end(user)
            if isinstance(error, User.DoesNotExist):  # erased meanwhile
                raise NotAuthenticated from None
            raise
        return StreamingHttpResponse(ending(parts, user), content_type="application/json")


def ending(parts: Iterator[str], user: User) -> Iterator[str]:
    try:
        yield from parts
    finally:
        ExportUnderWay.objects.end(user)
