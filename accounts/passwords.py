"""Which new passwords are refused (AUTH_PASSWORD_VALIDATORS), each rule with its code.

The rules do not apply at sign-in. The contract: interface §8.
"""

import logging
import re
import unicodedata
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator, validate_password
from django.core.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.fields import get_error_detail

from accounts.breaches import is_breached

logger = logging.getLogger(__name__)
PRODUCT = "Consulting management"
LONGEST = 256  # characters


def check_new_password(password: str, user: object = None) -> None:
    """Raise DRF's ValidationError for a password that may not be set for this user."""
    try:
        # Cut to what TooLong refuses: some rules take time by the square of the length.
        validate_password(password[: LONGEST + 1], user)  # type: ignore[arg-type]
    except ValidationError as error:
        raise serializers.ValidationError(get_error_detail(error)) from None


class TooShort:
    code = "too_short"

    def __init__(self) -> None:
        self.least = settings.PASSWORD_MIN_LENGTH
        self.message = (
            f"This password is too short. It must contain at least {self.least} characters."
        )

    def validate(self, password: str, user: Any = None) -> None:
        if len(password) < self.least:
            raise ValidationError(self.message, code=self.code)


class TooLong:
    """Bounds the cost of a hash."""

    code = "max_length"
    message = f"Ensure this field has no more than {LONGEST} characters."

    def validate(self, password: str, user: Any = None) -> None:
        if len(password) > LONGEST:
            raise ValidationError(self.message, code=self.code)


class Common:
    """Django's list of 20,000, in any compatibility form (NFKC)."""

    code = "common"
    message = "This password is too common."

    def __init__(self) -> None:
        self.known = CommonPasswordValidator()

    def validate(self, password: str, user: Any = None) -> None:
        try:
            self.known.validate(unicodedata.normalize("NFKC", password))
        except ValidationError:
            raise ValidationError(self.message, code=self.code) from None


class Personal:
    """Names of the product, the company or the user, one word of them, or the local part of the
    address: alone, or with digits and punctuation around it."""

    code = "personal"
    message = "This password is too close to your name, your e-mail address or a company's name."

    def validate(self, password: str, user: Any = None) -> None:
        names = [PRODUCT]
        if user is not None:
            names += [user.email.rpartition("@")[0], f"{user.first_name} {user.last_name}"]
            names.append(getattr(getattr(user, "account", None), "name", ""))
        words = {letters_of(word) for name in names for word in [name, *re.split(r"[\W_]+", name)]}
        if letters_of(password) in words - {""}:
            raise ValidationError(self.message, code=self.code)


def letters_of(text: str) -> str:
    """The letters of a word, without the digits and punctuation around them; digits alone stay."""
    plain = unicodedata.normalize("NFKC", text).lower()
    return re.sub(r"^[\W\d_]+|[\W\d_]+$|[\W_]", "", plain) or re.sub(r"[\W_]", "", plain)


class Breached:
    code = "breached"
    message = "This password has appeared in a data breach. Choose another one."

    def validate(self, password: str, user: Any = None) -> None:
        """If the file cannot be read, no password is refused."""
        try:
            if is_breached(password, settings.PASSWORD_BREACH_FILE):
                raise ValidationError(self.message, code=self.code)
        except OSError:
            logger.exception("PASSWORD_BREACH_FILE cannot be read")
