"""Rules for names, and for new passwords (AUTH_PASSWORD_VALIDATORS), each with its code.

The rules for passwords do not apply at sign-in. The contract: interface §8.
"""

import logging
import re
from typing import Any
from unicodedata import normalize

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

from accounts.breaches import is_breached
from base.text import DIRECTION, letters_and_digits

logger = logging.getLogger(__name__)
PRODUCT_NAME = "Consulting management"
MAX_NAME_LENGTH, MAX_PASSWORD_LENGTH = 200, 256  # characters; fields refuse a longer name


def validate_name(name: str) -> None:
    """Refuses names that show no letter or digit, or change the direction of the text after them;
    and links, since names are mailed to strangers from our own domain."""
    name = name[:MAX_NAME_LENGTH]  # since NFKC takes quadratic time
    plain = normalize("NFKC", name).lower()
    if "://" in plain or "www." in plain:
        raise ValidationError(gettext_lazy("Names can't contain links."), code="link")
    if DIRECTION.search(name):
        text = gettext_lazy("Names can't contain characters that change the direction of text.")
        raise ValidationError(text, code="direction")
    if not letters_and_digits(name):
        raise ValidationError(gettext_lazy("Names need a letter or a digit."), code="invisible")


def validate_company_name(name: str) -> None:
    """Refuses the name of the operators' company, and what looks like it."""
    if letters_and_digits(name[:MAX_NAME_LENGTH]) == "operators":
        raise ValidationError(gettext_lazy("This name is taken by the operators."), code="reserved")


def to_nfc(password: str) -> str:
    """The form in which a password is checked and hashed: NFC (RFC 8265 §4.2.2). Browsers send what
    the keyboard makes: Safari NFC, Firefox on macOS NFD."""
    # Longer ones stay, since normalising takes quadratic time. No rule admits them.
    return password if len(password) > MAX_PASSWORD_LENGTH else normalize("NFC", password)


class LengthRule:
    """A password has at least PASSWORD_MIN_LENGTH characters. It has at most MAX_PASSWORD_LENGTH,
    which bounds the cost of a hash."""

    def validate(self, password: str, user: Any = None) -> None:
        least = settings.PASSWORD_MIN_LENGTH
        if len(to_nfc(password)) < least:
            text = f"This password is too short. It must contain at least {least} characters."
            raise ValidationError(text, code="too_short")
        if len(password) > MAX_PASSWORD_LENGTH:
            text = f"Ensure this field has no more than {MAX_PASSWORD_LENGTH} characters."
            raise ValidationError(text, code="max_length")


class CommonPasswordRule:
    """Django's list of 20,000, in any compatibility form (NFKC)."""

    code = "common"
    message = "This password is too common."

    def __init__(self) -> None:
        self.known = CommonPasswordValidator()

    def validate(self, password: str, user: Any = None) -> None:
        try:
            self.known.validate(normalize("NFKC", password))
        except ValidationError:
            raise ValidationError(self.message, code=self.code) from None


class PersonalPasswordRule:
    """Names of the product, the company or the user, one word of them, or the local part of the
    address: alone, or with digits and punctuation around it."""

    code = "personal"
    message = "This password is too close to your name, your e-mail address or a company's name."

    def validate(self, password: str, user: Any = None) -> None:
        names = [PRODUCT_NAME]
        if user is not None:
            names += [user.email.rpartition("@")[0], f"{user.first_name} {user.last_name}"]
            names.append(getattr(getattr(user, "account", None), "name", ""))
        words = {
            core_letters(word) for name in names for word in [name, *re.split(r"[\W_]+", name)]
        }
        if core_letters(password) in words - {""}:
            raise ValidationError(self.message, code=self.code)


def core_letters(text: str) -> str:
    """The letters of a word, without the digits and punctuation around them; digits alone stay."""
    plain = normalize("NFKC", text).lower()
    return re.sub(r"^[\W\d_]+|[\W\d_]+$|[\W_]", "", plain) or re.sub(r"[\W_]", "", plain)


class BreachedPasswordRule:
    code = "breached"
    message = "This password has appeared in a data breach. Choose another one."

    def validate(self, password: str, user: Any = None) -> None:
        """If the file cannot be read, no password is refused."""
        try:
            if is_breached(to_nfc(password), settings.PASSWORD_BREACH_FILE):
                raise ValidationError(self.message, code=self.code)
        except OSError:
            logger.exception("PASSWORD_BREACH_FILE cannot be read")
