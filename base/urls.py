"""URLs: their parts, web origins, and the fragments in which mailed links have their token."""

import re
from urllib.parse import SplitResult, urlencode, urlsplit

DEFAULT_PORTS = {"http": ":80", "https": ":443"}

# The start of a URL's fragment. Mail gateways turn the `#` of a link into `%23`, or twice encoded
# into `%2523`.
PORT_AT_END = re.compile(":[0-9]*$")  # of a host and port
FRAGMENT_START = "(?:#|%(?:25)*23)"
FRAGMENT = re.compile(f"{FRAGMENT_START}.*", re.DOTALL)


def without_fragment(text: str) -> str:
    """The text up to its first `#` or encoded `#`: the rest may be the token of a mailed link."""
    return FRAGMENT.sub("", text)


def split_url(url: str) -> SplitResult | None:
    """The parts of a URL, whose scheme and host may be missing. None if it has a fragment, a
    backslash, a character other than visible ASCII, or brackets or a port that urlsplit refuses.
    Callers check the host."""
    if "#" in url or "\\" in url or not all("!" <= character <= "~" for character in url):
        return None
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  (raises ValueError for an invalid port)
    except ValueError:
        return None
    return parts


def web_origin(url: str) -> str:
    """The web origin of a URL (RFC 6454 §6.2): scheme, host and port as browsers write them. The
    URL must have a scheme and a host, and no user. Raises ValueError for a malformed one."""
    parts = urlsplit(url)
    port = "" if parts.port is None else f":{parts.port}"
    if port == DEFAULT_PORTS.get(parts.scheme):
        port = ""
    return f"{parts.scheme}://{PORT_AT_END.sub('', parts.netloc.lower())}{port}"


def with_query(url: str, **parameters: str | None) -> str:
    """The URL, which has no fragment, with the parameters that aren't None added to its query."""
    query = urlencode({name: value for name, value in parameters.items() if value is not None})
    return f"{url}{'&' if '?' in url else '?'}{query}"
