"""Reads the metadata of clients (RFC 7591 §2). Unsupported values are replaced or left out, which
the answer to a registration shows (§3.2.1). Null counts as absent.
"""

from typing import Any

from assistants import redirects
from assistants.errors import OAuthError
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


def read_client_metadata(metadata: object) -> dict[str, Any]:
    """The `name`, "" without one, and the `redirect_uris` in a client's metadata, which may be any
    JSON value. Invalid URIs are left out. Raises OAuthError if none is left, and for a name that is
    not a string."""
    members = metadata if isinstance(metadata, dict) else {}
    uri_list = members.get("redirect_uris")
    texts = [uri for uri in uri_list if isinstance(uri, str)] if isinstance(uri_list, list) else []
    short_uris = [uri for uri in dict.fromkeys(texts) if len(uri) <= MAX_URI_CHARACTERS]
    uris = [uri for uri in short_uris if redirects.parse_allowed_uri(uri)]
    if not uris:
        reason = "redirect_uris: at least one must be https or loopback http."
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
