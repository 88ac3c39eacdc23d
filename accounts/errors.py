"""Errors about users and companies, with the contract's status and text."""

from django.utils.translation import gettext_noop
from rest_framework.exceptions import APIException


class Conflict(APIException):
    """What can't be done as things are."""

    status_code = 409


class EmailTaken(Conflict):
    default_detail = gettext_noop("e-mail already registered")


class NotAdmin(APIException):
    """What IsAdmin answers, for the schema of views that require it for some methods only."""

    status_code = 403
    default_detail = "not permitted for your role"


class OwnSecondFactorMissing(Conflict):
    default_detail = "set up a second factor yourself first"


class LastAdmin(Conflict):
    default_detail = gettext_noop("the last admin cannot be removed")
    advice = "Make another user an admin, or delete the company."  # to operators


class LastBreakGlassAdmin(LastAdmin):
    """The company requires its provider: one admin must be able to sign in without it."""

    default_detail = gettext_noop("the last way back cannot be removed")
    advice = "Let another admin keep a password, or switch the connection off."


class CannotKeepPassword(Conflict):
    """For `keeps_password` of a user without password, second factor or the role of an admin."""

    default_detail = gettext_noop("only for admins with a password and a second factor")


class SignInAtProvider(Conflict):
    """The company of the address's domain requires its provider. Answers 409, as EmailTaken does:
    the link is valid, but not for what its address may do. `extra` is added to the body."""

    default_detail = gettext_noop("sign in with your company's account")

    def __init__(self, company: str) -> None:
        super().__init__()
        self.extra = {"company": company}


class EmailFromProvider(Conflict):
    """The user's company requires its provider, by the domain of the address."""

    default_detail = gettext_noop("your company manages your e-mail address")
