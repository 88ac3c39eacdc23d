"""Client ID Metadata Documents: the client's id is the https URL of a document about it.

The URL is untrusted: `base.outgoing` fetches it, up to 5 KB within 2 s, from public addresses only.
"""

import math
import re
import time
from datetime import timedelta
from typing import Any

from assistants import redirects, registration
from assistants.errors import UnusableMetadata
from base.outgoing import CallFailed, HttpClient

MAX_URL_CHARACTERS = 500
MIN_CACHE_TIME, MAX_CACHE_TIME = (
    timedelta(minutes=5),
    timedelta(days=1),
)  # how long a document is kept
FAILURE_SECONDS = 60  # until a URL without a usable document is fetched again
MAX_FAILED_URLS = 1000  # that a process remembers; then it forgets all
metadata_client = HttpClient("metadata", seconds=2, max_bytes=5 * 1024)
failure_times: dict[str, float] = {}  # by URL: time.monotonic() of its latest failure


def is_document_url(client_id: str) -> bool:
    """Whether a client_id is the URL of a document: https on port 443, with a path other than /,
    without user, fragment and dot segments, and of MAX_URL_CHARACTERS at most."""
    parts = redirects.parse_allowed_uri(client_id) if client_id.startswith("https://") else None
    if parts is None or parts.port not in {None, 443} or parts.path in {"", "/"}:
        return False
    segments = parts.path.lower().replace("%2e", ".").split("/")
    return len(client_id) <= MAX_URL_CHARACTERS and not {".", ".."} & set(segments)


def fetch_client(url: str) -> tuple[dict[str, Any], timedelta]:
    """The `name` and `redirect_uris` of the client whose document is at the URL, and how long to
    keep them: the answer's max-age, within MIN_CACHE_TIME and MAX_CACHE_TIME.

    Takes two seconds at most. Raises UnusableMetadata without a valid document. This process then
    raises it for FAILURE_SECONDS without another call to the URL, as long as it remembers the
    failure (MAX_FAILED_URLS), unless the URL was not called because too many calls were running."""
    if time.monotonic() - failure_times.get(url, -math.inf) < FAILURE_SECONDS:
        raise UnusableMetadata
    try:
        answer = metadata_client.fetch(url)
        client_fields = registration.read_metadata_document(url, answer.document())
    except (CallFailed, UnusableMetadata) as error:
        if not (isinstance(error, CallFailed) and error.reason == "busy"):
            if len(failure_times) >= MAX_FAILED_URLS:
                failure_times.clear()
            failure_times[url] = time.monotonic()
        raise UnusableMetadata from None
    max_age = re.search(r"\bmax-age=([0-9]{1,9})", answer.headers.get("Cache-Control", "").lower())
    lifetime = timedelta(seconds=int(max_age[1]) if max_age else 0)
    return client_fields, min(max(lifetime, MIN_CACHE_TIME), MAX_CACHE_TIME)
