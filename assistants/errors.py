"""Errors of the OAuth calls, in OAuth's own shape (RFC 6749 §5.2, RFC 7591 §3.2.2), and of the MCP
endpoint."""

from rest_framework.exceptions import APIException


class OAuthError(APIException):
    """400 with an OAuth error code and a sentence for the client's developer, which never repeats
    what was sent: RFC 6749 allows few characters in it."""

    status_code = 400
    error = description = ""

    def __init__(self, error: str = "", description: str = "") -> None:
        super().__init__(error or self.error)
        self.extra = {"error_description": description or self.description}


class InvalidClient(OAuthError):
    """The client_id is unknown, or its client was deleted as unused."""

    error, description = "invalid_client", "This client_id is not registered here."
    auth_header = 'Basic realm="oauth"'  # WWW-Authenticate of a 401


class UnusableMetadata(InvalidClient):
    """A client's metadata document cannot be fetched or is invalid."""

    description = "The metadata document of this client_id is missing or invalid."


class InvalidGrant(OAuthError):
    """A code or refresh token is unknown, expired, used, or another client's."""

    error = "invalid_grant"
    description = "The token is invalid, expired, used, or not this client's."


class TooManyTokenRequests(OAuthError):
    """The credential tier is exhausted. On other error codes, some clients ask the user for access
    again instead of waiting."""

    status_code = 429
    error, description = "temporarily_unavailable", "Too many requests: see Retry-After."


class OriginNotAllowed(APIException):
    """A script of another web origin called the MCP endpoint. MCP requires this 403."""

    status_code = 403
    default_detail = "origin not allowed"
