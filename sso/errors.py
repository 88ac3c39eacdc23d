"""Errors of signing in at a company's provider.

A `Refusal` ends a sign-in in the browser: its reason goes to the front-end, as `#error=`.
"""

from enum import StrEnum

from django.utils.translation import gettext_noop
from rest_framework.exceptions import APIException

from accounts.errors import Conflict


class InvalidCode(APIException):
    """A hand-over code that is unknown, expired or used, or is shown with another verifier."""

    status_code = 400
    default_detail = "invalid or expired code"


class NoConnection(APIException):
    """The company has no provider."""

    status_code = 404
    default_detail = "not found"


class RecordNotFound(APIException):
    """The domain has no TXT record with the value, as far as the name servers say."""

    status_code = 400
    default_detail = gettext_noop("TXT record not found")


class ConnectionUntested(Conflict):
    default_detail = gettext_noop("test the connection first")


class ConnectionStopped(Conflict):
    default_detail = gettext_noop("our support team has switched the connection off")


class NoBreakGlassAdmin(Conflict):
    default_detail = gettext_noop("first choose an admin who keeps a password")


class DomainListed(Conflict):
    default_detail = gettext_noop("domain already listed")


class TooManyDomains(Conflict):
    default_detail = gettext_noop("too many domains")


class DomainOfAnother(Conflict):
    default_detail = gettext_noop("another company has proved this domain")


class Reason(StrEnum):
    """Why a sign-in ended in the browser."""

    EXPIRED = "expired"  # too old, already used, or begun in another browser
    SWITCHED_OFF = "switched_off"  # the connection is not active
    DENIED = "denied"  # the provider did not let the user in, or the user did not want to
    PROVIDER = "provider"  # it can't be reached, or what it says is invalid
    BUSY = "busy"  # we have too many calls to providers running
    UNVERIFIED = "unverified"  # the provider says that the address is not verified
    DOMAIN = "domain"  # the address or Google Workspace account is in no proved domain
    ACCOUNT = "account"  # of a user who is deactivated, staff, elsewhere, or linked otherwise
    OTHER_USER = "other_user"  # re-authenticated as somebody else
    NOT_INVITED = "not_invited"  # no user has the address, and the connection creates none


class Refusal(Exception):
    """As a text for admins and operators it is the `step` that failed and a `detail`, such as
    "metadata: issuer", or else the reason."""

    def __init__(self, reason: Reason, step: str = "", detail: str = "") -> None:
        super().__init__(": ".join(filter(None, [step, detail])) or reason.value)
        self.reason, self.detail = reason, detail


class ProviderFailed(Refusal):
    """The provider is to blame, which its admins and operators are told."""

    def __init__(self, step: str, detail: str = "") -> None:
        super().__init__(Reason.PROVIDER, step, detail)


class ProviderDown(ProviderFailed):
    """Nobody can sign in at the provider: it refuses our client, doesn't answer, or answers 5xx."""
