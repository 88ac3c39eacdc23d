"""Errors of company sign-in: those that calls answer with, and `Refusal`, which ends a sign-in in
the browser."""

from enum import StrEnum

from django.utils.translation import gettext_noop
from rest_framework.exceptions import APIException

from accounts.errors import Conflict


class InvalidCode(APIException):
    """The hand-over code is unknown, expired or used, or the verifier is wrong."""

    status_code = 400
    default_detail = "invalid or expired code"


class PrefetchRefused(APIException):
    """A browser has loaded the page ahead, which would use up what works once. After an error
    status it loads the page again when the user goes there."""

    status_code = 403
    default_detail = "not to be loaded ahead"


class NoIdentityProvider(APIException):
    """The company has no provider or, to re-authenticate, no active one at which the caller has
    signed in."""

    status_code = 404
    default_detail = "not found"


class TXTRecordNotFound(APIException):
    """The name servers return no TXT record of the domain with the right value."""

    status_code = 400
    default_detail = gettext_noop("TXT record not found")


class ProviderUntested(Conflict):
    default_detail = gettext_noop("test the connection first")


class ProviderStopped(Conflict):
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
    """Why a sign-in ended in the browser, as the front-end is told by `#error=`."""

    EXPIRED = "expired"  # the sign-in is too old, already used, or began in another browser
    SWITCHED_OFF = "switched_off"  # the provider is not active
    DENIED = "denied"  # the provider did not let the user in, or the user cancelled
    PROVIDER = "provider"  # the provider can't be reached, or its answer is invalid
    BUSY = "busy"  # this process makes too many calls to providers
    UNVERIFIED = "unverified"  # the address is not verified
    DOMAIN = "domain"  # the company has not proved the domain of the address or Google Workspace
    ACCOUNT = "account"  # the user is deactivated, staff, of another company, or linked otherwise
    OTHER_USER = "other_user"  # another user than the caller re-authenticated
    NOT_INVITED = "not_invited"  # no user has the address, nor a good invitation


class Refusal(Exception):
    """Ends a sign-in. Its text, for admins and operators, is the `step` that failed and a `detail`,
    such as "metadata: issuer"; without both, it is the reason."""

    def __init__(self, reason: Reason, step: str = "", detail: str = "") -> None:
        super().__init__(": ".join(filter(None, [step, detail])) or reason.value)
        self.reason, self.detail = reason, detail


class ProviderFailed(Refusal):
    """The provider is at fault: it doesn't answer, or its answer is invalid. The company's admins
    and the operators see the text as the provider's last problem."""

    def __init__(self, step: str, detail: str = "") -> None:
        super().__init__(Reason.PROVIDER, step, detail)


class ProviderDown(ProviderFailed):
    """No user can sign in at the provider: it doesn't answer, answers 5xx, or refuses the client ID
    or secret."""
