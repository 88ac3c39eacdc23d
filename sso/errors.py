"""Errors of signing in at a company's provider.

A `Refusal` ends a sign-in in the browser: its word goes to the front-end, as `#error=`.
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


class Word(StrEnum):
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
    """`reason` says more, in a short word, to admins and operators."""

    def __init__(self, word: Word, reason: str = "") -> None:
        super().__init__(reason or word)
        self.word, self.reason = word, reason or word.value


class ProviderFailed(Refusal):
    """The provider is to blame, which its admins and operators are told."""

    def __init__(self, reason: str) -> None:
        super().__init__(Word.PROVIDER, reason)


class ProviderDown(ProviderFailed):
    """Nobody can sign in at the provider: it refuses our client, doesn't answer, or answers 5xx."""
