"""JSON alone goes in and comes out: bodies are read strictly (RFC 8259), whatever Accept says.

CountedView has looked at a body's size.
"""

import json
from collections.abc import Iterable, Mapping
from typing import IO, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.utils.mediatypes import media_type_matches


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


class JSONOnlyNegotiation(BaseContentNegotiation):
    """Picks the view's first renderer; a parser is picked by Content-Type as usual."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        for parser in parsers:
            if media_type_matches(parser.media_type, request.content_type or ""):
                return parser
        return None

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, first.media_type
