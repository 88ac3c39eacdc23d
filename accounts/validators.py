"""What a password and a name must not be."""

import unicodedata

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _


class MaximumLengthValidator:
    """Refuses passwords longer than `max_length` characters, so that a hash has a known cost."""

    def __init__(self, max_length: int = 256) -> None:
        self.max_length = max_length

    def validate(self, password: str, user: object = None) -> None:
        if len(password) > self.max_length:
            raise ValidationError(self.get_help_text(), code="password_too_long")

    def get_help_text(self) -> str:
        text = _("Your password must contain at most %(max_length)d characters.")
        return text % {"max_length": self.max_length}


def validate_name(name: str) -> None:
    """Refuses links: people's and companies' names are mailed to strangers from our own domain."""
    plain = unicodedata.normalize("NFKC", name).lower()
    if "://" in plain or "www." in plain:
        raise ValidationError("A name cannot hold a link.", code="link")
