"""Requests and responses of the /invitations calls."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.fields import NameField, NewPasswordField
from accounts.models import Role
from api.fields import LANGUAGE_CODES, EmailField, ObjectField, OneOfField, TextField
from api.openapi import example
from base.emails import new_email
from invitations.models import Status
from signin.serializers import ADA, EXAMPLE_LINK_TOKEN, TokenSerializer

EXAMPLE_INVITATION = {
    "id": "3c1f4c2f-8d4e-4d38-9a53-6f6d6a0a4f0e",
    "email": "bob@example.com",
    "role": "member",
    "consultant_id": None,
    "status": "pending",
    "invited_by": "0b9a3a52-6d0e-4a7e-9d5b-5f4f0f3a7c11",
    "created_at": "2026-03-02T09:00:00.250000Z",
    "expires_at": "2026-03-09T09:00:00.250000Z",
    "mail": "waiting",
}
MAX_INVITATIONS = 50  # in one request


@extend_schema_field({"type": "string", "format": "uuid"})
class IdField(TextField):
    """A UUID as a JSON string. DRF's own field would also accept numbers."""

    default_error_messages = {"id": "Must be a valid UUID."}

    def to_internal_value(self, data: object) -> UUID:  # type: ignore[override]
        try:
            return UUID(super().to_internal_value(data))
        except ValueError:
            self.fail("id")


@example({"email": "bob@example.com", "role": "member"})
class InviteSerializer(serializers.Serializer):
    email = EmailField(new_email)
    role = OneOfField(Role.values, required=False, help_text="`member` by default.")
    consultant_id = IdField(required=False, allow_null=True)
    language = OneOfField(
        LANGUAGE_CODES,
        required=False,
        help_text="The language of the mail; the inviter's by default.",
    )


@example({"invitations": [{"email": "bob@example.com"}, {"email": "carl@example.com"}]})
class InviteSeveralSerializer(serializers.Serializer):
    """Each item is handled and counted like a request of its own."""

    invitations = serializers.ListField(
        child=ObjectField(), min_length=1, max_length=MAX_INVITATIONS
    )


class InvitationFilterSerializer(serializers.Serializer):
    """The query of GET /invitations, without its pages."""

    status = OneOfField(Status.values, required=False)
    role = OneOfField(Role.values, required=False)
    search = TextField(required=False, allow_blank=True)
    sort = OneOfField(
        ["email", "-email", "created_at", "-created_at"],
        required=False,
        help_text="`-` reverses the order. Newest first by default.",
    )


@example({"token": EXAMPLE_LINK_TOKEN} | ADA)
class AcceptSerializer(TokenSerializer):
    first_name = NameField(max_length=150)
    last_name = NameField(max_length=150)
    password = NewPasswordField()
    language = OneOfField(
        LANGUAGE_CODES,
        required=False,
        help_text="The new user's language. By default that of Accept-Language, else the "
        "invitation's.",
    )


@example(EXAMPLE_INVITATION)
class InvitationSerializer(serializers.Serializer):
    """An invitation, as shown to admins. Only its mail has the token."""

    id = serializers.UUIDField()
    email = serializers.EmailField()
    role = serializers.ChoiceField(Role.values)
    consultant_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(Status.values)
    invited_by = serializers.UUIDField(
        source="invited_by_id",
        allow_null=True,
        help_text="A user of the company; null for operators, API keys and former users.",
    )
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    mail = serializers.SerializerMethodField(help_text="The state of its mail.")

    @extend_schema_field({"type": "string", "enum": ["waiting", "sent", "refused"]})
    def get_mail(self, invitation: Any) -> str:
        return invitation.mail_state or "sent"  # a deleted mail was sent long ago


@example({"items": [EXAMPLE_INVITATION, {"email": "ada@example.com", "error": "already a member"}]})
class InvitedSerializer(serializers.Serializer):
    """The outcome of each invitation, in order."""

    items = serializers.ListField(
        child=serializers.DictField(),
        help_text="An Invitation; or `email` and the error that a single request would have got.",
    )
