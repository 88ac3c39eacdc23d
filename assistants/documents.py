"""Client ID Metadata Documents: the client's id is the https URL of a document about it.

The URL is untrusted: `base.outgoing` fetches it, up to 5 KB within 2 s, from public addresses only.
"""

import re
from datetime import timedelta
from typing import Any

from assistants import redirects
from assistants.errors import OAuthError, UnusableMetadata
from assistants.registration import read_client_metadata
from base.outgoing import CallFailed, HttpClient

MAX_URL_CHARACTERS = 500
MIN_CACHE_TIME, MAX_CACHE_TIME = timedelta(minutes=5), timedelta(days=1)
metadata_client = HttpClient("metadata", seconds=2, max_bytes=5 * 1024)


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
    keep them: the answer's max-age, within MIN_CACHE_TIME and MAX_CACHE_TIME. Takes two seconds at
    most. Raises UnusableMetadata if there is no valid document, with a name and the URL as its
    `client_id`, or if the client has a secret."""
    try:
        answer = metadata_client.fetch(url)
        document = answer.document()
        client_fields = read_client_metadata(document)
    except (CallFailed, OAuthError):
        raise UnusableMetadata from None
    method = str(document.get("token_endpoint_auth_method"))
    secrets = {"client_secret", "client_secret_expires_at"} & document.keys()
    if secrets or method.startswith("client_secret"):
        raise UnusableMetadata
    if document.get("client_id") != url or not client_fields["name"]:
        raise UnusableMetadata
    max_age = re.search(r"\bmax-age=([0-9]{1,9})", answer.headers.get("Cache-Control", "").lower())
    lifetime = timedelta(seconds=int(max_age[1]) if max_age else 0)
    return client_fields, min(max(lifetime, MIN_CACHE_TIME), MAX_CACHE_TIME)
