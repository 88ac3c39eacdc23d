"""Rules for names."""

import unicodedata

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

LONGEST = 200  # characters; a longer name is refused by its field


def validate_name(name: str) -> None:
    """Refuses links, since names are mailed to strangers from our own domain."""
    # Cut, since NFKC takes quadratic time.
    plain = unicodedata.normalize("NFKC", name[:LONGEST]).lower()
    if "://" in plain or "www." in plain:
        raise ValidationError(gettext_lazy("Names can't contain links."), code="link")


def validate_company_name(name: str) -> None:
    """Refuses the name of the operators' company."""
    if name.strip().casefold() == "operators":
        raise ValidationError(gettext_lazy("This name is taken by the operators."), code="reserved")
