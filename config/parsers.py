"""JSON alone goes in and comes out: bodies are read strictly (RFC 8259), whatever Accept says."""

import json
from collections.abc import Iterable, Mapping
from typing import IO, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class MalformedJSON(ParseError):
    default_detail = "malformed JSON"


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def finite(digits: str) -> float:
    number = float(digits)
    if number in {float("inf"), float("-inf")}:
        raise ValueError("the number is too large")
    return number


class StrictJSONParser(JSONParser):
    """DRF's, for UTF-8 and objects alone, without NaN, Infinity, numbers that overflow, and nesting
    deeper than the interpreter's stack. CountedView has checked the size."""

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
    ) -> dict[str, object]:
        try:
            text = stream.read().decode()
            data = json.loads(text, parse_constant=refuse_constant, parse_float=finite)
        except (ValueError, RecursionError):
            raise MalformedJSON from None
        if not isinstance(data, dict):
            raise MalformedJSON
        return data


class JSONOnlyNegotiation(DefaultContentNegotiation):
    """Picks the view's first renderer, whatever Accept says."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, first.media_type
