"""E-mail addresses: the canonical form that is stored, compared, locked and mailed, the form that
people read, and searches."""

import re
import unicodedata
from email.errors import MessageError
from typing import Any

from django.core.exceptions import ValidationError
from django.core.mail.message import sanitize_address
from django.core.validators import EmailValidator
from django.db import models

MAX_SEARCH_LENGTH = 100  # characters
MAX_SEARCH_WORDS = 10  # the database looks for each word in several columns of each row
MAX_EMAIL_LENGTH = 254  # characters, by RFC 5321 §4.5.3.1.3 without the angle brackets

# Word joiner, zero-width space and soft hyphen. Mails and pages put them into addresses against
# links and line breaks, so an address that is copied from there has them.
INVISIBLE_CHARACTERS = dict.fromkeys(map(ord, "\u2060\u200b\u00ad"))

# The domain has a dot and is no IP address: other hosts may be in the service's own network. Some
# mail servers take `%` and `!` for a route.
MAILABLE_ADDRESS = re.compile(r"[^%!]+@[^\[]+\..+")
NON_ASCII_LOCAL_PART = "Before the @, use only letters a to z without accents, digits and signs."
ENCODED_DOMAIN = re.compile(r"(?<=@)[a-z0-9.-]*xn--[a-z0-9.-]*[a-z0-9]")
# The scripts whose letters may stand together (UTS #39 §5.2, Highly Restrictive), by the first word
# of the letters' names.
SCRIPTS_TOGETHER = [
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA"},
    {"LATIN", "CJK", "BOPOMOFO"},
    {"LATIN", "CJK", "HANGUL"},
]
# Latin letters of today's languages, without a dotless i. `idn.js` of the pages has the same.
LATIN_LETTERS = re.compile("[a-zß-öø-İĲ-ķĹ-ňŊ-žȘ-ț]*")
GMAIL_DOMAINS = {"gmail.com", "googlemail.com"}  # Gmail ignores dots before the @

validate_email = EmailValidator()


def canonical_email(value: str) -> str:
    """The address in lower case, its domain in ASCII (RFC 5890), without INVISIBLE_CHARACTERS and
    spaces around it.

    Raises ValidationError for an invalid address, and for one that could be a second spelling of
    another: with non-ASCII characters (then the error's code is `local_part`, else `invalid`) or
    quotes before the @, or with compatibility characters, or letters such as ß, after it. If two
    spellings led to one user, one person could request another's mail or lock them out.
    """
    value = value.translate(INVISIBLE_CHARACTERS).strip(" ")
    local, _, domain = value.rpartition("@")
    # The length is checked before NFKC, which takes quadratic time.
    is_plain = len(value) <= MAX_EMAIL_LENGTH and '"' not in local
    if is_plain and not local.isascii():
        raise ValidationError(NON_ASCII_LOCAL_PART, code="local_part")
    if not is_plain or unicodedata.normalize("NFKC", domain) != domain:
        raise ValidationError(validate_email.message, code="invalid")
    validate_email(value)
    try:
        encoded = domain.encode("idna")
        value = f"{local}@{encoded.decode('ascii')}".lower()
        # Python's IDNA 2003 maps ß to ss, a final sigma to another letter and invisible characters
        # to nothing. Today's domain names (RFC 5892) keep them apart, so such domains are refused.
        is_changed = not domain.isascii() and encoded.decode("idna") != domain.lower()
        if is_changed or len(value) > MAX_EMAIL_LENGTH:
            raise UnicodeError
    except UnicodeError:
        raise ValidationError(validate_email.message, code="invalid") from None
    return value


def readable_domain(domain: str) -> str:
    """A domain in its own letters, such as müller.example for xn--mller-kva.example. It stays as it
    is if it can't be decoded, or if its letters could deceive: of scripts that don't stand together
    (UTS #39), such as a Cyrillic name below .com, or with a Latin letter that is none of
    LATIN_LETTERS."""
    try:
        decoded = domain.encode().decode("idna")
    except UnicodeError:
        return domain
    letters = [letter for letter in decoded if letter not in ".-0123456789"]
    scripts = {unicodedata.name(letter, "?").partition(" ")[0] for letter in letters}
    latin = "".join(letter for letter in letters if "LATIN" in unicodedata.name(letter, "?"))
    is_clear = len(scripts) == 1 or any(scripts <= together for together in SCRIPTS_TOGETHER)
    return decoded if is_clear and LATIN_LETTERS.fullmatch(latin) else domain


def with_readable_domains(text: str) -> str:
    """A text with the domains of its addresses as `readable_domain` shows them."""
    return ENCODED_DOMAIN.sub(lambda match: readable_domain(match[0]), text)


def new_email(value: str) -> str:
    """The canonical form of an address that is to become a user's. Raises ValidationError where
    `canonical_email` does, and for an address that can't be mailed."""
    email = canonical_email(value)
    if not (MAILABLE_ADDRESS.fullmatch(email) and is_mailed_as_written(email)):
        raise ValidationError(validate_email.message, code="invalid")
    return email


def is_mailed_as_written(email: str) -> bool:
    """Whether Django's mailer sends to exactly this canonical address. The mailer decodes encoded
    words (RFC 2047), so that `=?x?q?victim?=@example.com` would go to `victim@example.com`."""
    try:
        return "=?" not in email and sanitize_address(email, "utf-8") == email
    except (ValueError, IndexError, MessageError):
        return False


def canonical_or_lower(value: str) -> str:
    """The canonical form of an address; of an invalid one its lower case."""
    try:
        return canonical_email(value)
    except ValidationError:
        return value.lower()


def search_words(text: str) -> list[str]:
    """The first MAX_SEARCH_WORDS words in the first MAX_SEARCH_LENGTH characters of a search text,
    each once, without the signs of a list of recipients around it, as in "Lovelace, Ada"; addresses
    in canonical form. NUL, which PostgreSQL refuses, separates words."""
    words = (word.strip(',;<>"') for word in text[:MAX_SEARCH_LENGTH].replace("\0", " ").split())
    terms = list(filter(None, words))[:MAX_SEARCH_WORDS]
    return list(dict.fromkeys(canonical_or_lower(term) if "@" in term else term for term in terms))


class CanonicalEmailField(models.EmailField):
    """An EmailField that stores and looks up `canonical_or_lower` of its value, also in bulk. Only
    validation (`full_clean`) refuses an invalid address."""

    default_validators: list[Any] = [new_email]  # it raises ValidationError

    def get_prep_value(self, value: str | None) -> str | None:
        value = super().get_prep_value(value)
        return canonical_or_lower(value) if value else value

    def pre_save(self, model_instance: models.Model, add: bool) -> str | None:
        value = self.get_prep_value(getattr(model_instance, self.attname))
        setattr(model_instance, self.attname, value)
        return value


def mailbox_of(email: str) -> str:
    """The mailbox of a canonical address: the address without its tag, which begins with `+`
    (RFC 5233), and at Gmail without the dots before the @ and with the domain gmail.com."""
    local, _, domain = email.rpartition("@")
    local = local.partition("+")[0]
    return f"{local.replace('.', '')}@gmail.com" if domain in GMAIL_DOMAINS else f"{local}@{domain}"
