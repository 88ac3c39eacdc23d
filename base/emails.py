"""The canonical form of e-mail addresses, which is stored, compared, locked and mailed."""

import re
import unicodedata
from email.errors import MessageError
from functools import reduce
from operator import or_
from typing import Any

from django.core.exceptions import ValidationError
from django.core.mail.message import sanitize_address
from django.core.validators import EmailValidator
from django.db import models
from django.db.models import Q

MAX_SEARCH_LENGTH, MAX_SEARCH_WORDS = 100, 10  # each word is sought in several columns of each row
MAX_EMAIL_LENGTH = 254  # RFC 5321 §4.5.3.1.3, less the angle brackets

# Mails and pages put these into addresses to prevent links and line breaks: word joiner, zero-width
# space, soft hyphen. An address that is copied from there contains them.
INVISIBLE_CHARACTERS = dict.fromkeys(map(ord, "\u2060\u200b\u00ad"))

# Neither a bare host nor an IP address, which may lead into our own network, nor `%` and `!`,
# which some mail servers take for a route.
MAILABLE_ADDRESS = re.compile(r"[^%!]+@[^\[]+\..+")
GMAIL_DOMAINS = {"gmail.com", "googlemail.com"}  # ignores dots before the @

validate_email = EmailValidator()


def canonical_email(value: str) -> str:
    """The address without surrounding spaces and INVISIBLE_CHARACTERS, in lower case, its domain in
    ASCII (RFC 5890).

    Raises ValidationError for an invalid address, and for compatibility or non-ASCII characters
    before the @: if two spellings became one user, one person could request another's mail or lock
    them out. The same applies to quoted local parts, which can spell one mailbox in many ways.
    """
    value = value.translate(INVISIBLE_CHARACTERS).strip(" ")
    local, _, domain = value.rpartition("@")
    # The length first, since NFKC takes quadratic time.
    is_plain = len(value) <= MAX_EMAIL_LENGTH and local.isascii() and '"' not in local
    if not is_plain or unicodedata.normalize("NFKC", domain) != domain:
        raise ValidationError(validate_email.message, code="invalid")
    validate_email(value)
    typed, plain = domain.lower(), domain.isascii()
    try:
        domain = domain.encode("idna").decode("ascii")
        value = f"{local}@{domain}".lower()
        # IDNA 2003 maps ß to ss, a final sigma to another letter and invisible characters to
        # nothing; domain names of today (RFC 5892) keep them apart.
        if len(value) > MAX_EMAIL_LENGTH or (not plain and domain.encode().decode("idna") != typed):
            raise UnicodeError
    except UnicodeError:
        raise ValidationError(validate_email.message, code="invalid") from None
    return value


def new_email(value: str) -> str:
    """The canonical form of an address that no user has yet. Raises ValidationError also unless it
    is a MAILABLE_ADDRESS and mailed as written; users whose address is not keep it."""
    email = canonical_email(value)
    if not (MAILABLE_ADDRESS.fullmatch(email) and is_mailed_as_written(email)):
        raise ValidationError(validate_email.message, code="invalid")
    return email


def is_mailed_as_written(email: str) -> bool:
    """Whether Django's mailer sends to this very address. It decodes encoded words (RFC 2047):
    `=?x?q?victim?=@example.com` goes to `victim@example.com`."""
    try:
        return "=?" not in email and sanitize_address(email, "utf-8") == email
    except (ValueError, IndexError, MessageError):
        return False


def canonical_or_lower(value: str) -> str:
    """The canonical form, or of what is no address its lower case, which matches no row."""
    try:
        return canonical_email(value)
    except ValidationError:
        return value.lower()


def search_words(text: str) -> list[str]:
    """The first words of a search text, each once, without NUL, which PostgreSQL refuses; addresses
    in their canonical form, as they are stored."""
    words = text[:MAX_SEARCH_LENGTH].replace("\0", " ").split()[:MAX_SEARCH_WORDS]
    return list(dict.fromkeys(canonical_or_lower(one) if "@" in one else one for one in words))


def search_filter(text: str, *columns: str) -> Q:
    """The condition that each of the text's first words is in one of these columns of a row."""
    condition = Q()
    for word in search_words(text):
        condition &= reduce(or_, [Q((f"{column}__icontains", word)) for column in columns])
    return condition


class CanonicalEmailField(models.EmailField):
    """An EmailField that stores and looks up the canonical form, bulk operations included."""

    default_validators: list[Any] = [new_email]  # it raises ValidationError

    def get_prep_value(self, value: str | None) -> str | None:
        value = super().get_prep_value(value)
        return canonical_or_lower(value) if value else value  # constraints prevent storing others

    def pre_save(self, model_instance: models.Model, add: bool) -> str | None:
        value = self.get_prep_value(getattr(model_instance, self.attname))
        setattr(model_instance, self.attname, value)
        return value


def mailbox_of(email: str) -> str:
    """A canonical address without its tag (RFC 5233): what comes before the `+`; one of Gmail's
    without dots."""
    local, _, domain = email.rpartition("@")
    local = local.partition("+")[0]
    return f"{local.replace('.', '')}@gmail.com" if domain in GMAIL_DOMAINS else f"{local}@{domain}"
