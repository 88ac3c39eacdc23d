"""The calls with which a company's admins configure its provider and its mail domains."""

from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle

from accounts.models import User
from accounts.models.users import IS_PROTECTED
from accounts.serializers import ADA_RESPONSE
from api.fields import FlagField, TextField
from api.openapi import Raises, example
from api.views import IsAdmin, ProtectedView, SignedInRequest
from base.emails import new_email
from signin.factors.serializers import ProofSerializer
from signin.reauthentication import (
    REAUTHENTICATION_REFUSED,
    reauthenticate,
    reauthenticate_where_required,
)
from signin.serializers import ADA
from sso import errors, openid
from sso.models import (
    MAX_CLIENT_ID,
    MAX_DOMAIN,
    MAX_ISSUER,
    Domain,
    IdentityProvider,
    ProviderMetadata,
)
from sso.records import has_txt_record
from throttling.errors import TooManyAttempts
from throttling.throttles import AuthenticatedThrottle, CredentialThrottle

EXAMPLE_CLIENT = {
    "issuer": "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0",
    "client_id": "6731de76-14a6-49ae-97bc-6eba6914391e",
}
ISSUER_ADVICE = {  # what an admin should do, by the `detail` of a Refusal
    "url": "Enter an https address on port 443.",
    "certificate": "The provider's certificate is invalid.",
    "issuer": "The provider calls itself by another name. Copy the issuer from its metadata.",
    "endpoint": "The provider's metadata have addresses that may not be called.",
    "keys": "The provider has no usable keys.",
    "busy": "Too many calls to the provider are running. Try again.",
}
NO_METADATA = {"metadata: status", "metadata: no_document"}  # texts of a ProviderFailed
NO_METADATA_ADVICE = (
    "The address gives no OpenID Connect metadata. Enter the issuer alone, without /.well-known."
)
UNREACHABLE_ADVICE = "No provider answers at a public address there. Check the address."


def advice_for(error: errors.Refusal) -> str:
    """Return what an admin should do about an issuer whose discovery has failed."""
    if str(error) in NO_METADATA and not isinstance(error, errors.ProviderDown):
        return NO_METADATA_ADVICE
    return ISSUER_ADVICE.get(error.detail, UNREACHABLE_ADVICE)


@example(EXAMPLE_CLIENT | {"client_secret": "q8Q~8Wz…", "password": ADA["password"]})
class ProviderSerializer(ProofSerializer):
    issuer = TextField(max_length=MAX_ISSUER, help_text="As in the provider's metadata.")
    client_id = TextField(max_length=MAX_CLIENT_ID)
    client_secret = TextField(max_length=500, write_only=True)
    trusts_emails = FlagField(
        required=False,
        help_text="Whether an address counts as verified if the provider doesn't say. By default "
        "false, or as it was if the issuer stays. Microsoft's providers need no true.",
    )


@example({"active": True, "required": False, "password": ADA["password"]})
class SwitchesSerializer(ProofSerializer):
    """All fields but the proof are optional."""

    active = FlagField(required=False)
    required = FlagField(required=False)  # type: ignore[assignment]
    creates_users = FlagField(required=False)


@example(
    EXAMPLE_CLIENT
    | {"active": True, "required": False, "creates_users": True, "trusts_emails": False}
    | {"last_problem": "", "tested_at": "2026-03-02T08:45:00.500000Z", "stopped_at": None}
    | {"last_problem_at": None, "exempt_users": 0}
    | {"redirect_uri": f"https://auth.example.com/auth/sso/{ADA_RESPONSE['account_id']}/callback"}
)
class ConnectionSerializer(serializers.ModelSerializer[IdentityProvider]):
    """A company's provider. Without one, its texts and times are empty, but for `redirect_uri`."""

    exempt_users = serializers.SerializerMethodField(
        help_text="Staff and operators of the service in the company, who sign in otherwise even "
        "where the provider is required."
    )
    issuer = serializers.CharField(allow_null=True)
    client_id = serializers.CharField(allow_null=True)
    redirect_uri = serializers.CharField(help_text="To be entered at the provider.")

    class Meta:
        model = IdentityProvider
        fields = ["issuer", "client_id", "active", "required", "creates_users", "tested_at"]
        fields += ["stopped_at", "last_problem", "last_problem_at", "redirect_uri", "exempt_users"]
        fields += ["trusts_emails"]
        read_only_fields = fields

    def get_exempt_users(self, provider: IdentityProvider) -> int:
        return User.objects.filter(account=provider.pk, is_active=True).filter(IS_PROTECTED).count()


class IdentityProviderView(ProtectedView):
    """GET, PUT, PATCH and DELETE /account/connection. All but GET need re-authentication."""

    permission_classes = [IsAdmin]

    def get_throttles(self) -> list[BaseThrottle]:
        is_read = self.request.method in {"GET", "HEAD"}
        return [AuthenticatedThrottle() if is_read else CredentialThrottle()]

    @extend_schema(
        operation_id="getConnection",
        summary="Get the connection to the company's provider",
        description="Without its secret. `redirect_uri` is known even before there is one.",
        responses={200: ConnectionSerializer},
    )
    def get(self, request: SignedInRequest) -> Response:
        company_id = request.user.account_id
        stored_provider = IdentityProvider.objects.filter(account=company_id).first()
        # Without a provider, an unsaved one shows null and the redirect URI.
        empty_fields = dict.fromkeys(["issuer", "client_id"])
        empty_provider = IdentityProvider(pk=company_id, **empty_fields)
        return Response(ConnectionSerializer(stored_provider or empty_provider).data)

    @extend_schema(
        operation_id="setConnection",
        summary="Set up or replace the connection to the company's provider",
        description="Asks the provider for its metadata, and answers 400 if it can't be used. "
        "A changed connection is switched off until it is tested and switched on again. Another "
        "issuer or client ends the sessions that began at the provider and unlinks all users, who "
        "are linked again at their next sign-in. A changed connection is mailed to the admins.",
        request=ProviderSerializer,
        responses={200: ConnectionSerializer, 403: REAUTHENTICATION_REFUSED},
    )
    def put(self, request: SignedInRequest) -> Response:
        """Store the provider once its metadata and keys, which are fetched here, prove usable.
        Raises DRF's ValidationError with advice for the issuer if they aren't, or for an invalid
        body; what `reauthenticate` raises; Django's PermissionDenied for the operators' company if
        the caller is no superuser; or NotFound if the company was deleted."""
        values = reauthenticate(request, ProviderSerializer)
        try:
            document = openid.discover_provider(values["issuer"])
        except errors.Refusal as error:
            raise serializers.ValidationError({"issuer": [advice_for(error)]}) from None
        with transaction.atomic():  # so that no DELETE comes between the two
            provider = IdentityProvider.objects.configure(request.user, **values)
            ProviderMetadata.objects.store(provider, document)
        return Response(ConnectionSerializer(provider).data)

    @extend_schema(
        operation_id="updateConnection",
        summary="Switch the connection on or off, or require it",
        description="`active` needs a test (409). `required` needs an active admin with "
        "`keeps_password` (409), shuts all other ways to sign in except for them, staff and "
        "users of unproved domains, and ends the sessions that were begun otherwise; switching "
        "off ends those that began there. What is not active is not required.",
        request=SwitchesSerializer,
        responses={
            200: ConnectionSerializer,
            403: REAUTHENTICATION_REFUSED,
            404: Raises(errors.NoIdentityProvider),
            409: Raises(errors.ProviderUntested, errors.NoBreakGlassAdmin, errors.ProviderStopped),
        },
    )
    def patch(self, request: SignedInRequest) -> Response:
        switches = reauthenticate(request, SwitchesSerializer)
        provider = get_object_or_404(IdentityProvider, account=request.user.account_id)
        provider.change_switches(request.user, **switches)
        return Response(ConnectionSerializer(provider).data)

    @extend_schema(
        operation_id="removeConnection",
        summary="Remove the connection to the company's provider",
        description="Sessions that began at the provider end. Users keep their accounts, and sign "
        "in by password again. The company's admins get a mail.",
        request=ProofSerializer,
        responses={
            204: None,
            403: REAUTHENTICATION_REFUSED,
            404: Raises(errors.NoIdentityProvider),
            409: Raises(errors.ProviderStopped),
        },
    )
    def delete(self, request: SignedInRequest) -> Response:
        reauthenticate(request)
        provider = get_object_or_404(IdentityProvider, account=request.user.account_id)
        provider.remove(request.user)
        return Response(status=204)


class DomainField(TextField):
    """A mail domain. Its value has the canonical form that `new_email` gives an address there."""

    default_error_messages = {"domain": "Enter a domain such as example.com."}

    def to_internal_value(self, data: object) -> str:
        try:
            return new_email(f"x@{super().to_internal_value(data)}").partition("@")[2]
        except ValidationError:
            self.fail("domain")


@example({"name": "example.com"})
class NewDomainSerializer(serializers.Serializer):
    name = DomainField(max_length=MAX_DOMAIN)


@example(
    {
        "id": "5d3b2a10-7f64-4a0e-9a3c-2f6f1c0d8e77",
        "name": "example.com",
        "record_name": "_consulting-management.example.com",
        "record_value": "consulting-management=Qm9vbGU…",
        "proved_at": None,
    }
)
class DomainSerializer(serializers.ModelSerializer[Domain]):
    """A mail domain of the company, and the TXT record that proves it."""

    record_name = serializers.CharField(help_text="The name of the TXT record.")
    record_value = serializers.CharField(help_text="Its value.")

    class Meta:
        model = Domain
        fields = ["id", "name", "record_name", "record_value", "proved_at"]
        read_only_fields = fields


@extend_schema_view(
    get=extend_schema(
        operation_id="listDomains",
        summary="List the company's mail domains",
        description="By name. `proved_at` is null until the TXT record was found.",
    )
)
class DomainsView(ProtectedView, ListAPIView):
    """GET and POST /account/domains."""

    permission_classes = [IsAdmin]
    serializer_class = DomainSerializer

    def get_queryset(self) -> QuerySet[Domain]:
        return Domain.objects.filter(account=self.request.user.account_id)

    @extend_schema(
        operation_id="addDomain",
        summary="Add a mail domain",
        description="Then create its TXT record and prove it.",
        request=NewDomainSerializer,
        responses={201: DomainSerializer, 409: Raises(errors.DomainListed, errors.TooManyDomains)},
    )
    def post(self, request: SignedInRequest) -> Response:
        name = self.validated_body(NewDomainSerializer)["name"]
        return Response(DomainSerializer(Domain.objects.add(request.user, name)).data, 201)


def get_domain_or_404(request: SignedInRequest, domain_id: UUID) -> Domain:
    """Return a mail domain of the caller's company, with its `account`. Raises Http404."""
    domains = Domain.objects.select_related("account")
    return get_object_or_404(domains, pk=domain_id, account=request.user.account_id)


class DomainView(ProtectedView):
    """DELETE /account/domains/{id}."""

    permission_classes = [IsAdmin]

    @extend_schema(
        operation_id="removeDomain",
        summary="Remove a mail domain",
        description="Users with an address in it sign in by password again. While the provider is "
        "required, a proved domain needs re-authentication.",
        request=ProofSerializer,
        responses={204: None, 403: REAUTHENTICATION_REFUSED, 429: Raises(TooManyAttempts)},
    )
    def delete(self, request: SignedInRequest, domain_id: UUID) -> Response:
        domain = get_domain_or_404(request, domain_id)
        if domain.proved_at:
            reauthenticate_where_required(request)
        domain.remove(request.user)
        return Response(status=204)


class ProveDomainView(ProtectedView):
    """POST /account/domains/{id}/prove: look up the domain's TXT record."""

    permission_classes = [IsAdmin]
    throttle_classes = [CredentialThrottle]

    @extend_schema(
        operation_id="proveDomain",
        summary="Prove a mail domain",
        description="Looks the TXT record up, which may be removed afterwards.",
        request=None,
        responses={
            200: DomainSerializer,
            400: Raises(errors.TXTRecordNotFound),
            409: Raises(errors.DomainOfAnother),
        },
    )
    def post(self, request: SignedInRequest, domain_id: UUID) -> Response:
        domain = get_domain_or_404(request, domain_id)
        if not domain.proved_at and not has_txt_record(domain.record_name, domain.record_value):
            raise errors.TXTRecordNotFound
        domain.mark_proved(request.user)
        return Response(DomainSerializer(domain).data)
