"""Errors about users and companies: exceptions with their status and text (interface §7)."""

from django.utils.translation import gettext_noop
from rest_framework.exceptions import APIException


class Conflict(APIException):
    """Base of errors of calls that the present state forbids."""

    status_code = 409


class EmailTaken(Conflict):
    default_detail = gettext_noop("e-mail already registered")


class OwnSecondFactorMissing(Conflict):
    default_detail = "set up a second factor yourself first"


class LastAdmin(Conflict):
    default_detail = gettext_noop("the last admin cannot be removed")
    # What operators may do instead; commands and the back office show it.
    advice = "Make another user an admin, or delete the company."


class LastBreakGlassAdmin(LastAdmin):
    """This user is the last who could sign in if the provider, which is required, failed."""

    default_detail = gettext_noop("the last way back cannot be removed")
    advice = "Let another admin keep a password, or switch the connection off."


class CannotKeepPassword(Conflict):
    default_detail = gettext_noop("only for admins with a password and a second factor")


class SignInAtProvider(Conflict):
    """A company has proved the domain of the user's address, and requires its provider. The link or
    password is valid, so the status is no 403."""

    default_detail = gettext_noop("sign in with your company's account")

    def __init__(self, company_name: str) -> None:
        super().__init__()
        self.extra = {"company": company_name}


class EmailFromProvider(Conflict):
    """The address can't be changed: the user must sign in at the company's provider, or would have
    to with the new address."""

    default_detail = gettext_noop("your company manages your e-mail address")
