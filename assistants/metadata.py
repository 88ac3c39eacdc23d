"""What clients say of themselves (RFC 7591 §2), by registration or in a metadata document.

The `client_id` of a client with a document is the document's https URL, which is untrusted:
`base.outgoing` fetches it from public addresses only.
"""

import re
from datetime import timedelta
from typing import Any

from assistants import redirects
from assistants.errors import OAuthError, UnusableMetadata
from base.outgoing import CallFailed, HttpClient
from base.text import letters_and_digits, visible_text

SCOPE = "mcp"  # the only one: every tool that the user may use
GRANT_TYPES = ["authorization_code", "refresh_token"]
# Members of every client's registration. Clients are public: they have no secret.
PUBLIC_CLIENT = {
    "token_endpoint_auth_method": "none",
    "grant_types": GRANT_TYPES,
    "response_types": ["code"],
    "scope": SCOPE,
}
MAX_REDIRECT_URIS, MAX_NAME_CHARACTERS = 10, 100
MAX_URI_CHARACTERS = 1994  # a grant stores 2,000, for the URI with a port such as `:65535`
MAX_URL_CHARACTERS = 500  # of a document
MIN_CACHE_TIME, MAX_CACHE_TIME = timedelta(minutes=5), timedelta(days=1)
# The draft recommends 5 KB at most, which documents in use exceed.
metadata_client = HttpClient("metadata", seconds=2, max_bytes=32 * 1024)


def read_client_metadata(metadata: object) -> dict[str, Any]:
    """The `name`, "" without one, and the `redirect_uris` in a client's metadata, which may be any
    JSON value. URIs that `parse_allowed_uri` refuses, repeated ones, and those beyond
    MAX_REDIRECT_URIS, are left out: the answer to a registration shows which stay (RFC 7591
    §3.2.1). Null counts as absent. Raises OAuthError if no URI is left, or the name is not a
    string."""
    members = metadata if isinstance(metadata, dict) else {}
    uri_list = members.get("redirect_uris")
    texts = [uri for uri in uri_list if isinstance(uri, str)] if isinstance(uri_list, list) else []
    short_uris = [uri for uri in dict.fromkeys(texts) if len(uri) <= MAX_URI_CHARACTERS]
    uris = [uri for uri in short_uris if redirects.parse_allowed_uri(uri)]
    if not uris:
        reason = "redirect_uris: none of them is allowed."
        raise OAuthError("invalid_redirect_uri", reason)
    name = members.get("client_name")
    if not isinstance(name, str | None):
        raise OAuthError("invalid_client_metadata", "client_name: must be a string.")
    return {"name": clean_name(name or ""), "redirect_uris": uris[:MAX_REDIRECT_URIS]}


def clean_name(name: str) -> str:
    """The name without invisible characters, cut to MAX_NAME_CHARACTERS; "" if no letter or digit
    is left."""
    name = visible_text(name)[:MAX_NAME_CHARACTERS].strip()
    return name if letters_and_digits(name) else ""


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
