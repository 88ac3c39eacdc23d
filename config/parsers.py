"""The parser of request bodies: JSON objects (RFC 8259)."""

from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class ObjectParser(JSONParser):
    """DRF's parser, for objects only, however deeply nested. CountedView checks the size."""

    def parse(self, stream: IO[bytes], *args: Any, **options: Any) -> dict[str, Any]:
        try:
            body = super().parse(stream, *args, **options)
        except (ParseError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise ParseError("malformed JSON")
        return body
