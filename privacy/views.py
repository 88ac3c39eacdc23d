"""GET /auth/me/data: all data stored about the caller."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotAuthenticated
from rest_framework.response import Response

from accounts.models import User
from api.views import ProtectedView, SignedInRequest
from privacy.export import export_user
from throttling.throttles import CredentialThrottle

LISTS_OF_EXPORT = ["consultant", "manages", "assistants", "authenticator_apps", "passkeys"]
LISTS_OF_EXPORT += ["identities", "invitations_sent", "api_keys_made", "provisioning", "mails"]
LISTS_OF_EXPORT += ["devices", "locks_and_devices", "trail"]
EXPORT_EXAMPLE: dict[str, Any] = {"profile": {"email": "ada@example.com"}, "links": {}}
EXPORT_EXAMPLE |= {"next": None} | {name: [] for name in LISTS_OF_EXPORT}


class DataQuerySerializer(serializers.Serializer):
    before = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        help_text="`next` of the previous answer: returns older events only.",
    )


class DataView(ProtectedView):
    throttle_classes = [CredentialThrottle]

    @extend_schema(
        operation_id="getMyData",
        summary="Export the caller's data",
        description="Profile, company, devices, connected apps, links, kinds and times of mails, "
        "and the newest 10,000 events of the audit log. For older events, send `next` as `before`.",
        parameters=[DataQuerySerializer],
        responses={200: dict},
        examples=[
            OpenApiExample("example", EXPORT_EXAMPLE, response_only=True, status_codes=["200"])
        ],
    )
    def get(self, request: SignedInRequest) -> Response:
        before = self.validated_query(DataQuerySerializer).get("before")
        try:
            return Response(export_user(request.user, request.user, before))
        except User.DoesNotExist:  # erased meanwhile
            raise NotAuthenticated from None
