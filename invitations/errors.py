"""Errors of invitations; api.errors makes the answers."""

from django.utils.translation import gettext_noop
from rest_framework.exceptions import ValidationError

from accounts.errors import Conflict


class InvitationRefused(Conflict):
    """The company may not send this invitation; subclasses say why."""


class AlreadyMember(InvitationRefused):
    """The address is a user of the inviting company. Other companies' users are never revealed."""

    default_detail = gettext_noop("already a member")


class AlreadyInvited(InvitationRefused):
    default_detail = gettext_noop("already invited")


class InvitationClosed(InvitationRefused):
    """Accepted or revoked."""

    default_detail = gettext_noop("invitation is no longer open")


class MailLimitReached(InvitationRefused):
    default_detail = gettext_noop("too many mails to this address")


class InvitationLimitReached(InvitationRefused):
    default_detail = gettext_noop("no more invitations today")


class UnknownConsultant(ValidationError):
    """The id is not one of the company's consultants, or that one already has a user."""

    default_detail = {"consultant_id": ["No consultant without a user has this id."]}


# Why an invitation is not sent, first or again.
REFUSALS = (AlreadyMember, AlreadyInvited, MailLimitReached, InvitationLimitReached)
