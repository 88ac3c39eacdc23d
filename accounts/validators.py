"""What a password and a name must not be."""
# ruff: noqa: RUF001  (letters that are mistaken for others are what LOOKALIKES is about)

import re
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


# What each letter of the operators' name may be mistaken for, in lower case: digits and signs;
# Greek, Cyrillic, Armenian, Coptic, Cherokee and Lisu letters; small capitals, strokes.
LOOKALIKES = {
    "o": "o0οσоօⲟᴏᴑøɵөѳꓳ",
    "p": "pρрⲣᴘᏢƿꓑþ",
    "e": "e3еεɛєэҽᴇᎬꓰ℮ɇǝəσ€",
    "r": "rгᴦʀɼɾɍꓣᏒя",
    "a": "a4@аαɑᴀⲁᎪꓮɐ",
    "t": "t7+тτᴛᎢꓔŧⲧ",
    "s": "s5$ѕꜱʂꓢᏚƽ",
}
SIGNS = frozenset("".join(LOOKALIKES.values()))
FILLERS = frozenset("\u115f\u1160\u3164\uffa0")  # letters of Hangul that show nothing
OPERATORS = re.compile("".join(f"[{re.escape(LOOKALIKES[letter])}]" for letter in "operators"))


def validate_name(name: str) -> None:
    """Refuses links: people's and companies' names are mailed to strangers from our own domain."""
    plain = unicodedata.normalize("NFKC", name).lower()
    if "://" in plain or "www." in plain:
        raise ValidationError(gettext_lazy("A name cannot hold a link."), code="link")


def validate_company_name(name: str) -> None:
    """Refuses the operators' name, in whatever case and spelling it would be taken for that."""
    parts = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    # Spaces, accents, hyphens and what is not to be seen tell no two names apart.
    shown = [sign for sign in parts if (sign.isalnum() or sign in SIGNS) and sign not in FILLERS]
    if OPERATORS.fullmatch("".join(shown)):
        raise ValidationError(gettext_lazy("This name is taken by the operators."), code="reserved")
