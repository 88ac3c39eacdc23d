"""The /account/api-keys calls, for a company's admins."""

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

from accounts.fields import NameField
from api.fields import OneOfField
from api.openapi import Raises, example
from api.views import IsAdmin, ProtectedView, Scope, SignedInRequest
from apikeys.errors import TooManyKeys
from apikeys.models import DEFAULT_DAYS, MAX_DAYS, MAX_KEY_NAME_LENGTH, ApiKey
from signin.factors.serializers import ProofSerializer
from signin.reauthentication import REAUTHENTICATION_REFUSED, reauthenticate
from signin.serializers import ADA
from throttling.errors import TooManyAttempts
from throttling.throttles import AuthenticatedThrottle, CredentialThrottle

A_KEY = {
    "id": "b51f3c1e-8a7d-4d0e-9c55-2f1b7a0c9d42",
    "name": "Payroll",
    "scopes": ["users:read"],
    "last_four": "4fQz",
    "created_by": "0b9a3a52-6d0e-4a7e-9d5b-5f4f0f3a7c11",
    "created_by_name": "Ada Lovelace",
    "created_at": "2026-03-02T08:45:00.500000Z",
    "expires_at": "2026-05-31T08:45:00.500000Z",
    "last_used_at": None,
    "revoked_at": None,
    "last_problem": "",
    "last_problem_at": None,
}


@extend_schema_field({"type": "integer", "minimum": 1, "maximum": MAX_DAYS})
class DaysField(serializers.Field[int, Any, int, Any]):
    """A JSON integer. DRF's own field would convert texts and fractions."""

    default_error_messages = {"days": f"Must be a whole number from 1 to {MAX_DAYS}."}

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int or not 1 <= data <= MAX_DAYS:
            self.fail("days")
        return int(data)


@example({"name": "Payroll", "scopes": ["users:read"], "days": 90, "password": ADA["password"]})
class MakeKeySerializer(ProofSerializer):
    name = NameField(max_length=MAX_KEY_NAME_LENGTH)
    scopes = serializers.ListField(child=OneOfField(Scope), min_length=1, max_length=len(Scope))
    days = DaysField(required=False, help_text=f"For which it works; {DEFAULT_DAYS} by default.")


@example(A_KEY)
class ApiKeySerializer(serializers.ModelSerializer[ApiKey]):
    """An API key, without the key itself."""

    scopes = serializers.ListField(child=serializers.CharField())
    created_by = serializers.UUIDField(
        source="created_by_id", allow_null=True, help_text="Null for a former user."
    )
    created_by_name = serializers.SerializerMethodField(help_text="Empty for a former user.")

    class Meta:
        model = ApiKey
        fields = ["id", "name", "scopes", "last_four", "created_by", "created_by_name"]
        fields += ["created_at", "expires_at", "last_used_at", "revoked_at"]
        fields += ["last_problem", "last_problem_at"]
        read_only_fields = fields
        extra_kwargs: ClassVar = {
            "last_problem": {"help_text": "Of provisioning, until its next success; else empty."},
        }

    def get_created_by_name(self, key: ApiKey) -> str:
        return key.created_by.get_full_name() if key.created_by else ""


@example(A_KEY | {"key": "cm_VKk2…4fQz"})
class MadeKeySerializer(ApiKeySerializer):
    """A new API key."""

    key = serializers.CharField(help_text="Shown once; send it as a bearer token.")

    class Meta(ApiKeySerializer.Meta):
        fields = [*ApiKeySerializer.Meta.fields, "key"]


class KeyFilterSerializer(serializers.Serializer):
    scope = OneOfField(Scope, required=False, help_text="Keys with this scope.")


@extend_schema_view(
    get=extend_schema(
        operation_id="listApiKeys",
        summary="List the company's API keys",
        description="Newest first, with those that were revoked or have expired.",
        parameters=[KeyFilterSerializer],
    )
)
class ApiKeysView(ProtectedView, ListAPIView):
    """GET and POST /account/api-keys."""

    permission_classes = [IsAdmin]
    serializer_class = ApiKeySerializer

    def get_throttles(self) -> list[BaseThrottle]:
        makes = self.request.method == "POST"
        return [CredentialThrottle() if makes else AuthenticatedThrottle()]

    def get_queryset(self) -> QuerySet[ApiKey]:
        own = ApiKey.objects.filter(account=self.request.user.account_id)
        if scope := self.validated_query(KeyFilterSerializer).get("scope"):
            # As text, since SQLite can't search in JSON.
            own = own.alias(text=Cast("scopes", TextField())).filter(text__contains=f'"{scope}"')
        return own.select_related("created_by")

    @extend_schema(
        operation_id="makeApiKey",
        summary="Make an API key",
        description="For the company's own programs. Needs re-authentication. The answer alone has "
        "the key. All admins are mailed. A company may have 50 keys that work.",
        request=MakeKeySerializer,
        responses={
            201: MadeKeySerializer,
            403: REAUTHENTICATION_REFUSED,
            409: Raises(TooManyKeys),
            429: Raises(TooManyAttempts),
        },
    )
    def post(self, request: SignedInRequest) -> Response:
        data = reauthenticate(request, MakeKeySerializer)
        row, key = ApiKey.objects.make(request.user, **data)
        return Response(ApiKeySerializer(row).data | {"key": key}, 201)


class ApiKeyView(ProtectedView):
    """DELETE /account/api-keys/{id}."""

    permission_classes = [IsAdmin]

    @extend_schema(
        operation_id="revokeApiKey",
        summary="Revoke an API key",
        description="It stops working at once, and its open invitations are revoked. 204 also if "
        "it was revoked before.",
        responses={204: None},
    )
    def delete(self, request: SignedInRequest, key_id: UUID) -> Response:
        own = ApiKey.objects.select_related("account").filter(account=request.user.account_id)
        get_object_or_404(own, pk=key_id).revoke(request.user)
        return Response(status=204)
