"""No negotiation: the API answers JSON, whatever Accept says."""

from collections.abc import Iterable

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.utils.mediatypes import media_type_matches


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
