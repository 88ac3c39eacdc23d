"""Metadata of clients, from a registration (RFC 7591 §2) or a metadata document.

Registration is lenient: unsupported values are replaced or left out, as the answer shows (§3.2.1).
Null counts as absent, since serializers of many languages write it.
"""

from typing import Any

from assistants import redirects
from assistants.errors import OAuthError, UnusableMetadata
from base.text import letters_and_digits, visible_text

SCOPE = "mcp"  # the only one: all that the user may do
GRANT_TYPES = ["authorization_code", "refresh_token"]
# What every client has. Clients are public: they have no secret.
PUBLIC_CLIENT = {
    "token_endpoint_auth_method": "none",
    "grant_types": GRANT_TYPES,
    "response_types": ["code"],
    "scope": SCOPE,
}
MAX_REDIRECT_URIS, MAX_NAME_CHARACTERS = 10, 100
MAX_URI_CHARACTERS = 1994  # a Grant holds 2,000 characters: the URI with any port, such as `:65535`


def read_client_metadata(metadata: object) -> dict[str, Any]:
    """The `name` and `redirect_uris` of a client. Raises OAuthError for unusable metadata."""
    members = metadata if isinstance(metadata, dict) else {}
    uri_list = members.get("redirect_uris")
    texts = [uri for uri in uri_list if isinstance(uri, str)] if isinstance(uri_list, list) else []
    short_uris = [uri for uri in dict.fromkeys(texts) if len(uri) <= MAX_URI_CHARACTERS]
    uris = [uri for uri in short_uris if redirects.split_uri(uri)]
    if not uris:
        reason = "redirect_uris: at least one must be https or loopback http."
        raise OAuthError("invalid_redirect_uri", reason)
    name = members.get("client_name")
    if not isinstance(name, str | None):
        raise OAuthError("invalid_client_metadata", "client_name: must be a string.")
    return {"name": clean_name(name or ""), "redirect_uris": uris[:MAX_REDIRECT_URIS]}


def clean_name(name: str) -> str:
    """The name as users see it, shortened; "" if it shows no letter or digit."""
    name = visible_text(name)[:MAX_NAME_CHARACTERS].strip()
    return name if letters_and_digits(name) else ""


def read_document(url: str, document: dict[str, object]) -> dict[str, Any]:
    """As `read_client_metadata`, for the document at this URL. Raises UnusableMetadata."""
    method = str(document.get("token_endpoint_auth_method"))
    secrets = {"client_secret", "client_secret_expires_at"} & document.keys()
    try:
        client_fields = read_client_metadata(document)
    except OAuthError:
        raise UnusableMetadata from None
    is_public = not secrets and not method.startswith("client_secret")
    if document.get("client_id") != url or not is_public or not client_fields["name"]:
        raise UnusableMetadata
    return client_fields
