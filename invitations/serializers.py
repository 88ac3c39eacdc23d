"""What inviters and invited people may send, and how an invitation looks to admins."""

from typing import Any
from uuid import UUID

from rest_framework import serializers

from accounts.models import Role
from accounts.serializers import (
    EmailField,
    NameField,
    NewPasswordField,
    OneOfField,
    RoleField,
    TextField,
    timestamp,
)
from invitations.models import Invitation, Status


class IdField(TextField):
    """A UUID in a JSON string; DRF's own field would take numbers, too."""

    default_error_messages = {"id": "Must be a valid UUID."}

    def to_internal_value(self, data: Any) -> UUID:  # type: ignore[override]
        try:
            return UUID(super().to_internal_value(data))
        except ValueError:
            self.fail("id")


class InviteSerializer(serializers.Serializer[Any]):
    email = EmailField()
    role = RoleField(default=Role.MEMBER)
    consultant_id = IdField(required=False, allow_null=True)


class InvitationFilterSerializer(serializers.Serializer[Any]):
    """The query of GET /invitations, besides its pages."""

    status = OneOfField(Status.values, required=False)


class AcceptSerializer(serializers.Serializer[Any]):
    token = TextField(max_length=512)
    first_name = NameField()
    last_name = NameField()
    password = NewPasswordField()


def invitation_response(invitation: Invitation) -> dict[str, Any]:
    """Invitation, as decisions §3 has it; the token is in the mail alone."""
    by, consultant = invitation.invited_by_id, invitation.consultant_id
    return {
        "id": str(invitation.pk),
        "email": invitation.email,
        "role": invitation.role,
        "consultant_id": str(consultant) if consultant else None,
        "status": invitation.status.value,
        "invited_by": str(by) if by else None,
        "created_at": timestamp(invitation.created_at),
        "expires_at": timestamp(invitation.expires_at),
    }
