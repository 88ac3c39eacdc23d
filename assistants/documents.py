"""Client ID Metadata Documents: the client's id is the https URL of a document about it.

The URL is untrusted: `base.outgoing` fetches it, 5 KB at most, within 2 s.
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
FAILURE_SECONDS = 60  # for which a URL without a usable document is not fetched again
MAX_FAILED_URLS = 1000  # that a process remembers
metadata_client = HttpClient("metadata", seconds=2, most_bytes=5 * 1024)
failure_times: dict[str, float] = {}  # time.monotonic() of the latest failure, by URL


def is_url(client_id: str) -> bool:
    """Whether a client_id is the URL of a document: https on port 443, with a path, and without
    user, fragment and dot segments."""
    parts = redirects.split_uri(client_id) if client_id.startswith("https://") else None
    if parts is None or parts.port not in {None, 443} or parts.path in {"", "/"}:
        return False
    segments = parts.path.lower().replace("%2e", ".").split("/")
    return len(client_id) <= MAX_URL_CHARACTERS and not {".", ".."} & set(segments)


def fetch_client(url: str) -> tuple[dict[str, Any], timedelta]:
    """The fields of the client whose document is at a URL that `is_url`, and how long to keep them.
    Raises UnusableMetadata, which is remembered, unless too many other calls were running."""
    if time.monotonic() - failure_times.get(url, -math.inf) < FAILURE_SECONDS:
        raise UnusableMetadata
    try:
        answer = metadata_client.fetch(url)
        client_fields = registration.read_document(url, answer.document())
    except (CallFailed, UnusableMetadata) as error:
        if not (isinstance(error, CallFailed) and error.reason == "busy"):
            if len(failure_times) >= MAX_FAILED_URLS:
                failure_times.clear()
            failure_times[url] = time.monotonic()
        raise UnusableMetadata from None
    max_age = re.search(r"\bmax-age=([0-9]{1,9})", answer.headers.get("Cache-Control", "").lower())
    lifetime = timedelta(seconds=int(max_age[1]) if max_age else 0)
    return client_fields, min(max(lifetime, MIN_CACHE_TIME), MAX_CACHE_TIME)
