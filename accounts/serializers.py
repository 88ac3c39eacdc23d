"""What callers may send, field by field, and how a user and a sign-in look to them."""

import re
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.validators import ProhibitSurrogateCharactersValidator

from accounts.emails import canonical_email
from accounts.models import Role, User
from accounts.openapi import ADA, ADA_RESPONSE, KEY, LINK, SIGN_IN_RESPONSE, TOKEN, example
from accounts.validators import validate_company_name, validate_name

# C0, DEL and C1 controls, and halves of surrogate pairs, which no database takes.
REFUSED_CHARACTERS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
PLAIN = r"^[^\u0000-\u001f\u007f-\u009f]*$"  # the same for other languages' regular expressions
LANGUAGES = [code for code, _ in settings.LANGUAGES]
REDUNDANT = (ProhibitNullCharactersValidator, ProhibitSurrogateCharactersValidator)


class TextField(serializers.CharField):
    """A JSON string; DRF's own field would turn numbers and booleans into strings."""

    default_error_messages = {"characters": "Control characters are not allowed."}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # They look for what REFUSED_CHARACTERS has found, one character at a time in Python.
        self.validators = [rule for rule in self.validators if not isinstance(rule, REDUNDANT)]

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if REFUSED_CHARACTERS.search(data):
            self.fail("characters")
        return super().to_internal_value(data)


# The lengths that the document gives for a field are those of its validators.
@extend_schema_field({"type": "string", "format": "email"})
class EmailField(TextField):
    """An e-mail address, as its canonical form."""

    default_error_messages = {"address": "Enter a valid email address."}

    def __init__(self, **options: Any) -> None:
        super().__init__(min_length=3, max_length=254, **options)

    def to_internal_value(self, data: Any) -> str:
        try:
            return canonical_email(super().to_internal_value(data))
        except ValidationError:
            self.fail("address")


@extend_schema_field({"type": "string", "format": "password"})
class PasswordField(TextField):
    """A password as typed: spaces count. The length is bounded before anything is hashed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, max_length=256, write_only=True, **options)


@extend_schema_field({"type": "string", "format": "password", "pattern": PLAIN})
class NewPasswordField(PasswordField):
    """A password that is to be set: AUTH_PASSWORD_VALIDATORS have their say."""

    default_error_messages = {
        "min_length": "This password is too short. It must contain at least {min_length} "
        "characters."
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(min_length=8, **options)

    def run_validators(self, value: Any) -> None:
        super().run_validators(value)
        try:
            validate_password(value)
        except ValidationError as error:
            raise serializers.ValidationError(error.messages) from None


class NameField(TextField):
    """A person's or a company's name."""

    def __init__(self, max_length: int = 150, **options: Any) -> None:
        super().__init__(max_length=max_length, **options)
        self.validators.append(validate_name)


class CompanyNameField(NameField):
    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=200, **options)
        self.validators.append(validate_company_name)


class OneOfField(TextField):
    """One of a few words; an error names them all, and never repeats what was sent."""

    default_error_messages = {"choice": "Choose one of: {choices}."}

    def __init__(self, words: Iterable[str], **options: Any) -> None:
        super().__init__(**options)
        self.words = list(words)

    def to_internal_value(self, data: Any) -> str:
        word = super().to_internal_value(data)
        if word not in self.words:
            self.fail("choice", choices=", ".join(self.words))
        return word


class LanguageField(OneOfField):
    """One of the settings' LANGUAGES, by its code."""

    def __init__(self, **options: Any) -> None:
        super().__init__(LANGUAGES, **options)


class RoleField(OneOfField):
    def __init__(self, **options: Any) -> None:
        super().__init__(Role.values, **options)


@extend_schema_field({"type": "boolean"})
class FlagField(serializers.Field[bool, Any, bool, Any]):
    """true or false; DRF's own field would take "yes", 1 and more for them."""

    default_error_messages = {"invalid": "Must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class FlagInQueryField(FlagField):
    """`true` or `false` in an address, where all is text."""

    def to_internal_value(self, data: Any) -> bool:
        return super().to_internal_value({"true": True, "false": False}.get(data, data))


@example({"email": "ada@example.com"})
class EmailSerializer(serializers.Serializer[Any]):
    email = EmailField()


@example({"email": "ada@example.com", "password": ADA["password"]})
class LoginSerializer(serializers.Serializer[Any]):
    email = EmailField()
    password = PasswordField()


@example({"token": LINK, "account_name": "Analytical Engines"} | ADA)
class CompleteSignupSerializer(serializers.Serializer[Any]):
    token = TextField(max_length=512)
    account_name = CompanyNameField()
    first_name = NameField()
    last_name = NameField()
    password = NewPasswordField()


@example({"token": LINK})
class UnlockSerializer(serializers.Serializer[Any]):
    token = TextField(max_length=512)


@example({"refresh_token": TOKEN})
class RefreshSerializer(serializers.Serializer[Any]):
    refresh_token = TextField(required=False, allow_blank=True, trim_whitespace=False)


class SettingsSerializer(serializers.Serializer[Any]):
    language = LanguageField(required=False)


@example({"settings": {"language": "sv"}})
class ProfileSerializer(serializers.Serializer[Any]):
    """What users may change of themselves; all fields are optional."""

    first_name = NameField(required=False)
    last_name = NameField(required=False)
    settings = SettingsSerializer(required=False)


@example({"role": "admin"})
class StandingSerializer(serializers.Serializer[Any]):
    """What admins may change of the users of their company; both fields are optional."""

    role = RoleField(required=False)
    is_active = FlagField(required=False)


class UserFilterSerializer(serializers.Serializer[Any]):
    """The query of GET /users, besides its pages."""

    search = TextField(required=False, allow_blank=True, max_length=100)
    role = RoleField(required=False)
    is_active = FlagInQueryField(required=False)


class UserSettings(serializers.Serializer[Any]):
    language = serializers.ChoiceField(LANGUAGES)


@example(ADA_RESPONSE)
class UserResponse(serializers.Serializer[Any]):
    """A user as everybody sees themselves."""

    id = serializers.UUIDField()
    account_id = serializers.UUIDField(help_text="The company.")
    email = serializers.EmailField()
    first_name = serializers.CharField()
    last_name = serializers.CharField()
    role = serializers.ChoiceField(Role.values)
    created_at = serializers.DateTimeField()
    consultant_id = serializers.UUIDField(
        source="profile_id",
        allow_null=True,
        help_text="The linked consultant profile: it opens the self-service areas.",
    )
    settings = UserSettings(source="*")
    is_manager = serializers.BooleanField(
        source="manages", help_text="Manages at least one consultant."
    )


@example(ADA_RESPONSE | {"is_active": True})
class CompanyUser(UserResponse):
    """A user as the admins of the company see them."""

    is_active = serializers.BooleanField(help_text="An inactive user cannot sign in.")


@example(SIGN_IN_RESPONSE)
class AuthResponse(serializers.Serializer[Any]):
    access_token = serializers.CharField(help_text="JWT, RS256; sent as a bearer token.")
    refresh_token = serializers.CharField(help_text="JWT, RS256; good for a new pair.")
    token_type = serializers.ChoiceField(["Bearer"])
    user = UserResponse()


@example({"message": "If the address is available, a sign-up link is on its way."})
class Message(serializers.Serializer[Any]):
    message = serializers.CharField()


class Key(serializers.Serializer[Any]):
    """A public key (RFC 7517)."""

    kty = serializers.ChoiceField(["RSA"])
    kid = serializers.CharField()
    use = serializers.ChoiceField(["sig"])
    alg = serializers.ChoiceField(["RS256"])
    n = serializers.CharField()
    e = serializers.CharField()


@example({"keys": [KEY]})
class KeySet(serializers.Serializer[Any]):
    keys = Key(many=True)


# Made once: to set up its fields takes a serializer longer than all the rest of `/auth/me`.
SHOWN_USER, SHOWN_SIGN_IN = UserResponse(), AuthResponse()


def user_response(user: User) -> dict[str, Any]:
    """UserResponse, of a user loaded by `User.objects.with_profile()`."""
    return SHOWN_USER.to_representation(user)


def auth_response(user: User, access: str, refresh: str) -> dict[str, Any]:
    """AuthResponse: a pair of encoded tokens and their user."""
    pair = {"access_token": access, "refresh_token": refresh, "token_type": "Bearer"}
    return SHOWN_SIGN_IN.to_representation(pair | {"user": user})
