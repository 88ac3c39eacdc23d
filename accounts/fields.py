"""Serializer fields of passwords and names. Their rules are in accounts.validators."""

from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from drf_spectacular.utils import extend_schema_field

from accounts.validators import MAX_PASSWORD_LENGTH, validate_company_name, validate_name
from api.fields import WITHOUT_CONTROLS, TextField


@extend_schema_field({"type": "string", "format": "password"})
class PasswordField(TextField):
    """A password as typed: spaces count. Its length is bounded, since it will be hashed."""

    min_length: int | None = None  # characters

    def __init__(self, **options: Any) -> None:
        lengths: dict[str, Any] = {"min_length": self.min_length, "max_length": MAX_PASSWORD_LENGTH}
        super().__init__(trim_whitespace=False, write_only=True, **lengths, **options)


@extend_schema_field({"type": "string", "format": "password", "pattern": WITHOUT_CONTROLS})
class NewPasswordField(PasswordField):
    """A new password, which AUTH_PASSWORD_VALIDATORS check."""

    min_length = settings.PASSWORD_MIN_LENGTH

    def run_validators(self, value: Any) -> None:
        """Run the password rules alone: DRF's length validators would repeat their messages. The
        rules get no user here; `hash_new_password` runs them with one."""
        # A longer password is cut, since some rules take time by the square of the length. What is
        # left of it is still too long for LengthRule.
        validate_password(value[: MAX_PASSWORD_LENGTH + 1])


class NameField(TextField):
    """A name that others read, also in mails."""

    default_validators = [validate_name]


class CompanyNameField(NameField):
    default_validators = [validate_name, validate_company_name]
