"""Rules for names and for new passwords. Each raises ValidationError with a code of its own.

Those for passwords are AUTH_PASSWORD_VALIDATORS (interface §8). At sign-in they don't apply.
"""

import logging
import re
from typing import Any
from unicodedata import normalize
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

from accounts.breaches import is_breached
from base.text import DIRECTION_CHARACTERS, letters_and_digits

logger = logging.getLogger(__name__)
PRODUCT_NAME = "Consulting management"
MAX_NAME_LENGTH = 200  # characters; no field takes a longer name
MAX_PASSWORD_LENGTH = 256  # characters


def validate_name(name: str) -> None:
    """Raise ValidationError for a name with a link, with characters that change the direction of
    text, or without a visible letter or digit: the service mails names to strangers. The caller
    bounds the length."""
    name = name[:MAX_NAME_LENGTH]  # NFKC takes quadratic time
    lowered = normalize("NFKC", name).lower()
    if "://" in lowered or "www." in lowered:
        raise ValidationError(gettext_lazy("Names can't contain links."), code="link")
    if DIRECTION_CHARACTERS.search(name):
        text = gettext_lazy("Names can't contain characters that change the direction of text.")
        raise ValidationError(text, code="direction")
    if not letters_and_digits(name):
        raise ValidationError(gettext_lazy("Names need a letter or a digit."), code="invisible")


def validate_company_name(name: str) -> None:
    """Raise ValidationError for a name that looks like that of the operators' company."""
    if letters_and_digits(name[:MAX_NAME_LENGTH]) == "operators":
        raise ValidationError(gettext_lazy("This name is taken by the operators."), code="reserved")


def validate_time_zone(name: str) -> None:
    """Raise ValidationError unless this is a name of the IANA time zone database."""
    # `localtime` is each host's own zone, which another host may lack.
    if name not in available_timezones() - {"localtime", "Factory"}:
        text = "Unknown time zone. Enter an IANA name such as Europe/Berlin, or nothing for UTC."
        raise ValidationError(text, code="time_zone")


def to_nfc(password: str) -> str:
    """The form in which a password is checked and hashed: NFC (RFC 8265 §4.2.2), since Safari sends
    NFC and Firefox on macOS NFD. One over MAX_PASSWORD_LENGTH stays as it is."""
    # Normalising takes quadratic time. LengthRule refuses longer new passwords.
    return password if len(password) > MAX_PASSWORD_LENGTH else normalize("NFC", password)


class LengthRule:
    """A password has at least PASSWORD_MIN_LENGTH code points in NFC. As typed, it has at most
    MAX_PASSWORD_LENGTH, which bounds the cost of a hash."""

    def validate(self, password: str, user: Any = None) -> None:
        minimum = settings.PASSWORD_MIN_LENGTH
        if len(to_nfc(password)) < minimum:
            text = f"This password is too short. It must contain at least {minimum} characters."
            raise ValidationError(text, code="too_short")
        if len(password) > MAX_PASSWORD_LENGTH:
            text = f"Ensure this field has no more than {MAX_PASSWORD_LENGTH} characters."
            raise ValidationError(text, code="max_length")


class CommonPasswordRule:
    """A password is none of Django's 20,000 common ones, in any case or compatibility form
    (NFKC)."""

    code = "common"
    message = "This password is too common."

    def __init__(self) -> None:
        self.django_rule = CommonPasswordValidator()

    def validate(self, password: str, user: Any = None) -> None:
        try:
            self.django_rule.validate(normalize("NFKC", password))
        except ValidationError:
            raise ValidationError(self.message, code=self.code) from None


class PersonalPasswordRule:
    """A password is more than a name with digits and punctuation around it."""

    code = "personal"
    message = "This password is too close to your name, your e-mail address or a company's name."

    def validate(self, password: str, user: Any = None) -> None:
        """Raise ValidationError if the password is a name or a word of one, compared by `core_of`:
        the product's name, and of a user, also an unsaved one, the address before the @, the full
        name and the company's."""
        names = [PRODUCT_NAME]
        if user is not None:
            names += [user.email.rpartition("@")[0], f"{user.first_name} {user.last_name}"]
            names.append(getattr(getattr(user, "account", None), "name", ""))
        parts = [part for name in names for part in [name, *re.split(r"[\W_]+", name)]]
        if core_of(password) in {*map(core_of, parts)} - {""}:
            raise ValidationError(self.message, code=self.code)


def core_of(text: str) -> str:
    """The text in NFKC and lower case, without spaces and punctuation, and without the digits
    around its letters; of a text without letters, its digits."""
    lowered = normalize("NFKC", text).lower()
    return re.sub(r"^[\W\d_]+|[\W\d_]+$|[\W_]", "", lowered) or re.sub(r"[\W_]", "", lowered)


class BreachedPasswordRule:
    code = "breached"
    message = "This password has appeared in a data breach. Choose another one."

    def validate(self, password: str, user: Any = None) -> None:
        """Raise ValidationError if PASSWORD_BREACH_FILE has the password's hash. While the file
        can't be read, which is logged, every password passes."""
        try:
            if is_breached(to_nfc(password), settings.PASSWORD_BREACH_FILE):
                raise ValidationError(self.message, code=self.code)
        except OSError:
            logger.exception("PASSWORD_BREACH_FILE cannot be read")
