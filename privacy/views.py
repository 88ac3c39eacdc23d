"""GET /auth/me/data: all that is stored on the caller."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from accounts.generics import SignedInRequest
from audit import trail
from audit.budget import DAY
from audit.models import Kind
from privacy.export import export
from privacy.models import ExportBudget
from signin.generics import ProofView
from throttling.exceptions import TooManyAttempts

A_DAY = 5


class DataView(ProofView):
    """GET /auth/me/data, five times a day."""

    @extend_schema(
        operation_id="getMyData",
        summary="All that is stored on the caller",
        description="Profile, company, devices, assistants, links, mails' kinds and times, records "
        "of the audit trail. Five times a day; then 429.",
        responses={200: OpenApiTypes.OBJECT},
    )
    def get(self, request: SignedInRequest) -> Response:
        if ExportBudget.objects.take(str(request.user.pk), DAY) > A_DAY:
            raise TooManyAttempts
        trail.record(Kind.DATA_EXPORTED, actor=request.user)
        return Response(export(request.user))
