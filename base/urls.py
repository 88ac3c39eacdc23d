"""URLs: their parts and web origins, and the fragments that hold the token of a mailed link."""

import re
from urllib.parse import SplitResult, urlencode, urlsplit

DEFAULT_PORTS = {"http": ":80", "https": ":443"}

# The start of a URL's fragment: mail gateways turn the `#` of a link into `%23`, some twice.
FRAGMENT_START = "(?:#|%(?:25)*23)"
FRAGMENT = re.compile(f"{FRAGMENT_START}.*", re.DOTALL)


def without_fragment(text: str) -> str:
    """The text up to its first `#`, also an encoded one, as logs and error reports may hold it."""
    return FRAGMENT.sub("", text)


def split_url(url: str) -> SplitResult | None:
    """The parts of a URL of visible ASCII characters, without a fragment; None for others."""
    if "#" in url or "\\" in url or not all("!" <= character <= "~" for character in url):
        return None
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (raises ValueError for an invalid port)
    except ValueError:
        return None
    return parts


def web_origin(url: str) -> str:
    """Scheme, host and port of a URL as browsers write them (RFC 6454 §6.2): in lower case, without
    the scheme's default port."""
    parts = urlsplit(url)
    port = DEFAULT_PORTS.get(parts.scheme, "")
    return f"{parts.scheme}://{parts.netloc.lower().removesuffix(port)}"


def with_query(url: str, **parameters: str | None) -> str:
    """The URL with these added to its query, except those that are None."""
    added = urlencode({name: value for name, value in parameters.items() if value is not None})
    return f"{url}{'&' if '?' in url else '?'}{added}"
