"""Errors of the OAuth calls, in OAuth's own shape (RFC 6749 §5.2, RFC 7591 §3.2.2)."""

from rest_framework.exceptions import APIException


class OAuthError(APIException):
    """400 with `error`, one of OAuth's own words, and a sentence for the client's developer.

    A description never repeats what was sent: RFC 6749 allows it few characters.
    """

    status_code = 400
    default_detail = "invalid_request"

    def __init__(self, description: str) -> None:
        super().__init__()
        self.description = description

    @property
    def body(self) -> dict[str, str]:
        return {"error": str(self.detail), "error_description": self.description}


class InvalidRequest(OAuthError):
    """A parameter is missing, given twice, or makes no sense."""


class InvalidClient(OAuthError):
    """No client of that id is registered here, or no longer."""

    default_detail = "invalid_client"


class DocumentUnusable(InvalidClient):
    """A client's metadata document that cannot be had, or does not say what it must."""

    def __init__(self) -> None:
        super().__init__("The metadata document of this client_id is not to be had, or not usable.")


class InvalidGrant(OAuthError):
    """A code or a refresh token that does not hold: unknown, expired, used, or another client's."""

    default_detail = "invalid_grant"


class InvalidTarget(OAuthError):
    """A `resource` that is not the MCP endpoint (RFC 8707 §2)."""

    default_detail = "invalid_target"


class TooManyTokenRequests(OAuthError):
    """The credential tier is exhausted, said so that clients keep what they have and wait: after
    `server_error` and words that they do not know, some ask the person anew."""

    status_code = 429
    default_detail = "temporarily_unavailable"

    def __init__(self) -> None:
        super().__init__("Too many requests: wait for the seconds that Retry-After names.")


class UnsupportedGrantType(OAuthError):
    default_detail = "unsupported_grant_type"


class UnsupportedResponseType(OAuthError):
    default_detail = "unsupported_response_type"


class InvalidRedirectURI(OAuthError):
    default_detail = "invalid_redirect_uri"


class InvalidClientMetadata(OAuthError):
    default_detail = "invalid_client_metadata"


class FormExpired(OAuthError):
    """A form of the page that is too old, was made for something else, or came from elsewhere."""

    def __init__(self) -> None:
        super().__init__("The form has expired.")


class AlreadyAnswered(OAuthError):
    """A second click on the button: the first one has made the grant."""

    status_code = 409

    def __init__(self) -> None:
        super().__init__("This has been answered.")


class OriginNotAllowed(APIException):
    """A script of another site calls the MCP endpoint; the specification asks for this 403."""

    status_code = 403
    default_detail = "origin not allowed"
