"""How bodies are read: as strict JSON (RFC 8259)."""

import json
import math
from collections.abc import Mapping
from typing import IO

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


def finite(text: str) -> float:
    """A number; ValueError for one that overflows, and for NaN and Infinity."""
    if math.isfinite(number := float(text)):
        return number
    raise ValueError


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
            data = json.loads(text, parse_constant=finite, parse_float=finite)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise ParseError("malformed JSON")
        return data
