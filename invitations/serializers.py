"""What inviters and invited people may send, and how an invitation looks to admins."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.fields import (
    EmailField,
    LanguageField,
    NameField,
    NewPasswordField,
    OneOfField,
    RoleField,
    TextField,
)
from accounts.models import Role
from invitations.models import Status
from signin.openapi import ADA, LINK
from throttling.openapi import example

BOB = {
    "id": "3c1f4c2f-8d4e-4d38-9a53-6f6d6a0a4f0e",
    "email": "bob@example.com",
    "role": "member",
    "consultant_id": None,
    "status": "pending",
    "invited_by": "0b9a3a52-6d0e-4a7e-9d5b-5f4f0f3a7c11",
    "created_at": "2026-03-02T09:00:00.250000Z",
    "expires_at": "2026-03-09T09:00:00.250000Z",
}


@extend_schema_field({"type": "string", "format": "uuid"})
class IdField(TextField):
    """A UUID in a JSON string; DRF's own field would take numbers, too."""

    default_error_messages = {"id": "Must be a valid UUID."}

    def to_internal_value(self, data: Any) -> UUID:  # type: ignore[override]
        try:
            return UUID(super().to_internal_value(data))
        except ValueError:
            self.fail("id")


@example({"email": "bob@example.com", "role": "member"})
class InviteSerializer(serializers.Serializer[Any]):
    email = EmailField()
    role = RoleField(default=Role.MEMBER)
    consultant_id = IdField(required=False, allow_null=True)


class InvitationFilterSerializer(serializers.Serializer[Any]):
    """The query of GET /invitations, besides its pages."""

    status = OneOfField(Status.values, required=False)


@example({"token": LINK} | ADA)
class AcceptSerializer(serializers.Serializer[Any]):
    token = TextField(max_length=512)
    first_name = NameField()
    last_name = NameField()
    password = NewPasswordField()
    language = LanguageField(
        required=False,
        help_text="The person's, as chosen on the page; else as Accept-Language has it, else the "
        "invitation's.",
    )


@example(BOB)
class InvitationSerializer(serializers.Serializer[Any]):
    """An invitation as admins see it; the token is in the mail alone."""

    id = serializers.UUIDField()
    email = serializers.EmailField()
    role = serializers.ChoiceField(Role.values)
    consultant_id = serializers.UUIDField(allow_null=True)
    status = serializers.ChoiceField(Status.values)
    invited_by = serializers.UUIDField(
        source="invited_by_id", allow_null=True, help_text="A user of the company."
    )
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
