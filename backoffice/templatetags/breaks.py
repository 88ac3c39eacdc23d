"""Where a long address may break: at its @ and its dots, and within no word."""

import re
from typing import Any

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
PLACES = re.compile(r"(?<=[a-z0-9])(?=[@.][a-z0-9])", re.IGNORECASE)


@register.filter
def breaking(value: Any) -> SafeString:
    """The text, escaped, with places to break at."""
    return mark_safe(PLACES.sub("<wbr>", conditional_escape(value)))  # noqa: S308
