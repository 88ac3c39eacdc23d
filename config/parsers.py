"""How bodies are read: as JSON objects (RFC 8259)."""

from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class ObjectParser(JSONParser):
    """DRF's, for objects alone, nested no deeper than the interpreter's stack. CountedView has
    checked the size."""

    def parse(self, stream: IO[bytes], *args: Any, **options: Any) -> dict[str, Any]:
        try:
            body = super().parse(stream, *args, **options)
        except (ParseError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise ParseError("malformed JSON")
        return body
