"""Client ID Metadata Documents: the client's id is the https URL of a document about it.

The URL is untrusted: `base.outgoing` fetches it, 5 KB at most, within 2 s.
"""

import re
from datetime import timedelta

from assistants import redirects
from assistants.errors import UnusableMetadata
from base.outgoing import CallFailed, Calls

LONGEST_URL = 500
SHORTEST, LONGEST = timedelta(minutes=5), timedelta(days=1)  # how long a document is kept
calls = Calls("metadata", seconds=2, most_bytes=5 * 1024)


def is_url(client_id: str) -> bool:
    """Whether a client_id is the URL of a document: https on port 443, with a path, and without
    user, fragment and dot segments."""
    parts = redirects.split_uri(client_id) if client_id.startswith("https://") else None
    if parts is None or parts.port not in {None, 443} or parts.path in {"", "/"}:
        return False
    segments = parts.path.lower().replace("%2e", ".").split("/")
    return len(client_id) <= LONGEST_URL and not {".", ".."} & set(segments)


def fetch_document(url: str) -> tuple[dict[str, object], timedelta]:
    """The document at a URL that `is_url`, and how long to keep it. Raises UnusableMetadata."""
    try:
        answer = calls.fetch(url)
        document = answer.document()
    except CallFailed:
        raise UnusableMetadata from None
    max_age = re.search(r"\bmax-age=([0-9]{1,9})", answer.headers.get("Cache-Control", "").lower())
    lifetime = timedelta(seconds=int(max_age[1]) if max_age else 0)
    return document, min(max(lifetime, SHORTEST), LONGEST)
