"""The /invitations calls as the OpenAPI document describes them."""

from typing import Any

from drf_spectacular.utils import (
    OpenApiExample,
    extend_schema,
    extend_schema_field,
    extend_schema_view,
)
from rest_framework import serializers

from accounts.exceptions import EmailTaken, InvalidLink
from accounts.models import Role
from accounts.schema import ADA, COOKIE, PAGING, AuthResponse, body, page_of
from invitations import serializers as bodies
from invitations import views
from invitations.exceptions import AlreadyInvited, AlreadyMember, InvitationClosed
from invitations.models import Status

extend_schema_field({"type": "string", "format": "uuid"})(bodies.IdField)


class Invitation(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    role = serializers.ChoiceField(Role.values)
    consultant_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(Status.values)
    invited_by = serializers.UUIDField(allow_null=True, help_text="A user of the company.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


EXAMPLES: list[OpenApiExample] = body("A colleague", email="bob@example.com", role="member")

extend_schema_view(
    get=extend_schema(
        summary="The company's invitations",
        description="Newest first.",
        parameters=[*PAGING, bodies.InvitationFilterSerializer],
        responses={200: page_of(Invitation, "InvitationPage")},
    ),
    post=extend_schema(
        summary="Invite a colleague",
        description="Mails a link. That the address is a user of another company is told only to "
        "whoever accepts.",
        request=bodies.InviteSerializer,
        responses={201: Invitation, 409: (AlreadyMember, AlreadyInvited)},
        examples=EXAMPLES,
    ),
)(views.InvitationsView)

extend_schema_view(
    delete=extend_schema(
        summary="Revoke an invitation", responses={204: None, 409: InvitationClosed}
    )
)(views.InvitationView)

extend_schema_view(
    post=extend_schema(
        summary="Send an invitation again",
        description="A new link and a new expiry; the old link dies.",
        request=None,
        responses={200: Invitation, 409: (InvitationClosed, AlreadyMember, AlreadyInvited)},
    )
)(views.ResendView)

extend_schema_view(
    post=extend_schema(
        summary="Accept an invitation",
        description="Makes the user, uses the token up, and signs in.",
        request=bodies.AcceptSerializer,
        responses={200: AuthResponse, 400: InvalidLink, 409: EmailTaken},
        parameters=[COOKIE],
        examples=body("Accept", token="AZOs…", **ADA),  # noqa: S106
    )
)(views.AcceptView)
