"""GET /auth/me/data: all that is stored on the caller."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.exceptions import NotAuthenticated
from rest_framework.response import Response

from accounts.generics import ProtectedView, SignedInRequest
from accounts.models import User
from audit import trail
from audit.budget import DAY
from audit.models import Kind
from privacy.export import export
from privacy.models import ExportBudget
from throttling.errors import TooManyAttempts
from throttling.views import CredentialThrottle

A_DAY = 5
PARTS = ["consultant", "manages", "assistants", "invitations_sent", "mails", "locks_and_devices"]
EXAMPLE = {"profile": {"email": "ada@example.com", "first_name": "Ada"}, "links": {}, "trail": []}
EXAMPLE |= {part: [] for part in PARTS}


class DataView(ProtectedView):
    """GET /auth/me/data, five times a day."""

    throttle_classes = [CredentialThrottle]

    @extend_schema(
        operation_id="getMyData",
        summary="All that is stored on the caller",
        description="Profile, company, devices, assistants, links, mails' kinds and times, records "
        "of the audit trail. Five times a day; then 429.",
        responses={200: OpenApiTypes.OBJECT},
        examples=[OpenApiExample("example", EXAMPLE, response_only=True, status_codes=["200"])],
    )
    def get(self, request: SignedInRequest) -> Response:
        if ExportBudget.objects.take(str(request.user.pk), DAY) > A_DAY:
            raise TooManyAttempts
        trail.record(Kind.DATA_EXPORTED, actor=request.user)
        try:
            return Response(export(request.user))
        except User.DoesNotExist:  # erased meanwhile
            raise NotAuthenticated from None
