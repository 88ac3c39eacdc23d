"""Reads a request body as JSON (RFC 8259), strictly; CountedView has looked at its size."""

import json
from collections.abc import Mapping
from typing import IO, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser


class MalformedJSON(ParseError):
    default_detail = "malformed JSON"


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def finite(digits: str) -> float:
    number = float(digits)
    if number in {float("inf"), float("-inf")}:
        raise ValueError("the number is too large")
    return number


class StrictJSONParser(BaseParser):
    """UTF-8 JSON whose top is an object.

    Refused, as `malformed JSON`: other encodings, NaN and Infinity, numbers that overflow, nesting
    deeper than the interpreter's stack, a top that is a list or a plain value.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
    ) -> dict[str, object]:
        try:
            data = json.loads(
                stream.read().decode("utf-8"),
                parse_constant=refuse_constant,
                parse_float=finite,
            )
        except (ValueError, RecursionError):
            raise MalformedJSON from None
        if not isinstance(data, dict):
            raise MalformedJSON
        return data
