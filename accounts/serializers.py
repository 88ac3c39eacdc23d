"""Requests and responses about users and companies (interface §2)."""

from rest_framework import serializers

from accounts.fields import CompanyNameField, NameField
from accounts.models import Role, SecondFactor, User
from accounts.models.users import ORDERS
from accounts.validators import validate_time_zone
from api.fields import LANGUAGE_CODES, FlagField, FlagInQueryField, OneOfField, TextField
from api.openapi import example

ADA_RESPONSE = {
    "id": "0b9a3a52-6d0e-4a7e-9d5b-5f4f0f3a7c11",
    "account_id": "6f1d2c1e-3f0f-4f61-8e3a-2f7c1f0a9b42",
    "email": "ada@example.com",
    "first_name": "Ada",
    "last_name": "Lovelace",
    "role": "admin",
    "created_at": "2026-03-02T08:30:00.120000Z",
    "consultant_id": None,
    "settings": {"language": "en"},
    "is_manager": True,
}


class SettingsSerializer(serializers.Serializer):
    language = OneOfField(LANGUAGE_CODES, required=False)


@example({"settings": {"language": "sv"}})
class ProfileSerializer(serializers.Serializer):
    """What users may change about themselves; all fields are optional."""

    first_name = NameField(max_length=150, required=False)
    last_name = NameField(max_length=150, required=False)
    settings = SettingsSerializer(required=False)


@example({"role": "admin"})
class RoleOrActiveSerializer(serializers.Serializer):
    """What admins may change about users of their company; all fields are optional."""

    role = OneOfField(Role.values, required=False)
    is_active = FlagField(required=False)
    keeps_password = FlagField(
        required=False,
        help_text="The user, an admin with a password and a second factor, may sign in with them "
        "where the company requires its provider.",
    )


@example({"name": "Analytical Engines", "second_factor": "required"})
class AccountSerializer(serializers.Serializer):
    """What admins may change about their company; all fields are optional."""

    name = CompanyNameField(max_length=200, required=False)
    second_factor = OneOfField(SecondFactor.values, required=False)
    time_zone = TextField(
        max_length=64,
        allow_blank=True,
        required=False,
        validators=[validate_time_zone],
        help_text="Of times in mails: an IANA name such as Europe/Berlin. Empty for UTC.",
    )


@example(
    {
        "id": ADA_RESPONSE["account_id"],
        "name": "Analytical Engines",
        "second_factor": "optional",
        "time_zone": "Europe/London",
        "created_at": "2026-03-02T08:30:00.120000Z",
    }
)
class AccountResponse(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField()
    second_factor = serializers.ChoiceField(SecondFactor.values)
    time_zone = serializers.CharField(help_text="Of times in mails; empty for UTC.")
    created_at = serializers.DateTimeField()


class UserFilterSerializer(serializers.Serializer):
    """The query of GET /users, without its pages."""

    search = TextField(required=False, allow_blank=True)
    role = OneOfField(Role.values, required=False)
    is_active = FlagInQueryField(required=False)
    second_factor = FlagInQueryField(
        source="has_second_factor", required=False, help_text="With, or without, a second factor."
    )
    not_signed_in_since = serializers.DateTimeField(
        required=False, help_text="Users who haven't signed in since this time (ISO 8601), or ever."
    )
    signed_in = FlagInQueryField(required=False, help_text="Whether they have ever signed in.")
    sort = OneOfField(
        ORDERS,
        required=False,
        help_text="`-` reverses the order; users who have never signed in come last. By name by "
        "default. To read all pages, sort by `id`: in any other order, users change their places "
        "meanwhile, and one may be missed.",
    )


class UserSettings(serializers.Serializer):
    language = serializers.ChoiceField(LANGUAGE_CODES)


@example(ADA_RESPONSE)
class UserResponse(serializers.Serializer):
    """A user, as shown to themselves."""

    id = serializers.UUIDField()
    account_id = serializers.UUIDField(help_text="The company.")
    email = serializers.EmailField()
    first_name = serializers.CharField()
    last_name = serializers.CharField()
    role = serializers.ChoiceField(Role.values)
    created_at = serializers.DateTimeField()
    consultant_id = serializers.UUIDField(
        allow_null=True,
        help_text="The linked consultant profile: it opens the self-service areas.",
    )
    settings = UserSettings(source="*")
    is_manager = serializers.BooleanField(help_text="Manages at least one consultant.")


@example(
    ADA_RESPONSE
    | {
        "is_active": True,
        "last_sign_in_at": "2026-03-02T08:45:00.500000Z",
        "has_second_factor": True,
    }
)
class CompanyUser(UserResponse):
    """A user, as shown to the company's admins."""

    is_active = serializers.BooleanField(help_text="An inactive user cannot sign in.")
    last_sign_in_at = serializers.DateTimeField(
        allow_null=True, help_text="Null if the user has never signed in."
    )
    has_second_factor = serializers.BooleanField()
    keeps_password = serializers.BooleanField(
        required=False, help_text="Absent, unless the user is an admin's way back."
    )

    def to_representation(self, instance: User) -> dict[str, object]:
        """The body, without `keeps_password` unless that is true."""
        body: dict[str, object] = super().to_representation(instance)
        if not instance.keeps_password:
            del body["keeps_password"]
        return body


@example(
    ADA_RESPONSE
    | {
        "is_active": False,
        "last_sign_in_at": None,
        "has_second_factor": False,
        "revoked_invitations": ["carl@example.com"],
    }
)
class ChangedUser(CompanyUser):
    """A user whose role or state an admin has changed."""

    revoked_invitations = serializers.ListField(
        child=serializers.EmailField(),
        required=False,
        help_text="Addresses whose open invitations from this user were revoked. Absent if there "
        "were none.",
    )

    def to_representation(self, instance: User) -> dict[str, object]:
        """The body, with `keeps_password` if that is true or the request has it, and with
        `revoked_invitations` unless there are none. The serializer's context must have `changes`,
        the request's values by field, and `revoked_invitations`, a list of addresses."""
        body = super().to_representation(instance)
        if "keeps_password" in self.context["changes"]:
            body["keeps_password"] = instance.keeps_password
        if addresses := self.context["revoked_invitations"]:
            body["revoked_invitations"] = addresses
        return body


# The only instance, since setting up its fields takes longer than the rest of `/auth/me`. It makes
# no query for users that `User.objects.with_profile()` or a `Finder` has loaded.
USER_SERIALIZER = UserResponse()
