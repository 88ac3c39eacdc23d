"""Paths as logs and error reports may hold them: without the token of a mailed link."""

import re

# The start of a URL's fragment: mail gateways turn the `#` of a link into `%23`, some twice.
FRAGMENT_START = "(?:#|%(?:25)*23)"
FRAGMENT = re.compile(f"{FRAGMENT_START}.*", re.DOTALL)


def without_fragment(text: str) -> str:
    """The text up to its first `#`, also an encoded one."""
    return FRAGMENT.sub("", text)
