"""Errors of signing in at a company's provider.

A `Refusal` ends a sign-in in the browser: its `word` goes to the front-end, as `#error=`.
"""

from typing import ClassVar

from django.utils.translation import gettext_noop
from rest_framework.exceptions import APIException


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


class UnusableProvider(Exception):
    """The provider's metadata or keys can't be used. `reason` is a short word: one of
    `base.outgoing.CallFailed`, or `issuer`, `endpoint` or `keys`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Refusal(Exception):
    """`reason` says more, in a short word, to admins and operators."""

    word: ClassVar[str]

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason or self.word)
        self.reason = reason or self.word


class Expired(Refusal):
    """Too old, already used, or begun in another browser."""

    word = "expired"


class SwitchedOff(Refusal):
    """The connection is not active."""

    word = "switched_off"


class RefusedByProvider(Refusal):
    """The provider did not let the user in, or the user did not want to."""

    word = "denied"


class ProviderFailed(Refusal):
    """The provider can't be reached, or what it says is invalid."""

    word = "provider"


class Unverified(Refusal):
    """The provider says that the address is not verified."""

    word = "unverified"


class ForeignDomain(Refusal):
    """The address, or the Google Workspace account, is in none of the company's proved domains."""

    word = "domain"


class UnusableAccount(Refusal):
    """The address's user is deactivated, staff, of another company, or another user's identity."""

    word = "account"


class NotInvited(Refusal):
    """There is no user with this address, and the connection creates none."""

    word = "not_invited"
