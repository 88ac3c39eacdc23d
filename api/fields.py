"""Serializer fields, stricter than DRF's: strings, addresses, choices, objects and flags."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.validators import ProhibitSurrogateCharactersValidator

from base.emails import canonical_email
from base.text import REFUSED_RANGES

REFUSED_CHARACTERS = re.compile(f"[{REFUSED_RANGES}]")
# A text without control characters, as a pattern of the OpenAPI document.
WITHOUT_CONTROLS = r"^[^\u0000-\u001f\u007f-\u009f]*$"
LANGUAGE_CODES = [code for code, _ in settings.LANGUAGES]


class TextField(serializers.CharField):
    """A JSON string without control characters, trimmed by default. DRF's CharField would convert
    numbers to text."""

    default_error_messages = {"characters": "Control characters are not allowed."}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # REFUSED_CHARACTERS includes what DRF's own validators look for, one character at a time.
        repeated = ProhibitNullCharactersValidator, ProhibitSurrogateCharactersValidator
        self.validators = [rule for rule in self.validators if not isinstance(rule, repeated)]

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if REFUSED_CHARACTERS.search(data):
            self.fail("characters")
        return super().to_internal_value(data)


@extend_schema_field({"type": "string", "format": "email"})
class EmailField(TextField):
    """An e-mail address, whose value is its canonical form by `rule`. For an address that no user
    has yet, pass `new_email`."""

    default_error_messages = {"address": "Enter a valid email address."}

    def __init__(self, rule: Callable[[str], str] = canonical_email, **options: Any) -> None:
        super().__init__(min_length=3, max_length=254, **options)
        self.rule = rule

    def to_internal_value(self, data: object) -> str:
        """The canonical address. A ValidationError of `rule` becomes DRF's, with code `address`."""
        try:
            return self.rule(super().to_internal_value(data))
        except ValidationError as error:
            if error.code == "local_part":
                raise serializers.ValidationError(error.message, "address") from None
            self.fail("address")


class OneOfField(TextField):
    """One of a few texts. The error lists them."""

    default_error_messages = {"choice": "Choose one of: {choices}."}

    def __init__(self, choices: Iterable[str], **options: Any) -> None:
        super().__init__(**options)
        self.choices = list(choices)
        extend_schema_field({"type": "string", "enum": self.choices})(self)  # type: ignore[type-var]

    def to_internal_value(self, data: object) -> str:
        choice = super().to_internal_value(data)
        if choice not in self.choices:
            self.fail("choice", choices=", ".join(self.choices))
        return choice


@extend_schema_field({"type": "object", "additionalProperties": True})
class ObjectField(serializers.Field[Any, Any, Any, Any]):
    """A JSON object. Its members are not checked here: python-fido2 checks a passkey's answer."""

    default_error_messages = {"object": "Must be an object."}

    def to_internal_value(self, data: object) -> dict[str, object]:
        if not isinstance(data, dict):
            self.fail("object")
        return data


@extend_schema_field({"type": "boolean"})
class FlagField(serializers.Field[bool, Any, bool, Any]):
    """true or false. DRF's BooleanField would also accept "yes" and 1."""

    default_error_messages = {"invalid": "Must be true or false."}

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class FlagInQueryField(FlagField):
    """The text `true` or `false` in a URL, as a boolean."""

    def to_internal_value(self, data: Any) -> bool:
        return super().to_internal_value({"true": True, "false": False}.get(data, data))
