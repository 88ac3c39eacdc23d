"""Rules for passwords and names."""

import unicodedata

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy


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
    """Refuses links: names of users and companies are mailed to strangers from our own domain."""
    plain = unicodedata.normalize("NFKC", name).lower()
    if "://" in plain or "www." in plain:
        raise ValidationError(gettext_lazy("A name cannot hold a link."), code="link")


def validate_company_name(name: str) -> None:
    """Refuses the name of the operators' company, which a flag marks and not its name."""
    if name.strip().casefold() == "operators":
        raise ValidationError(gettext_lazy("This name is taken by the operators."), code="reserved")
