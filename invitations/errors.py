"""Errors of invitations; config.errors makes the answers."""

from django.utils.translation import gettext_noop
from rest_framework.exceptions import APIException, ValidationError


class InvitationRefused(APIException):
    """The company may not send this invitation; subclasses say why."""

    status_code = 409


class AlreadyMember(InvitationRefused):
    """The address is a user of the inviting company. Other companies' users are never revealed."""

    default_detail = gettext_noop("already a member")


class AlreadyInvited(InvitationRefused):
    """The company has a pending invitation for the address."""

    default_detail = gettext_noop("already invited")


class InvitationClosed(InvitationRefused):
    """The invitation has been accepted or revoked."""

    default_detail = gettext_noop("invitation is no longer open")


class MailLimitReached(InvitationRefused):
    """The company has reached its hourly limit of mails to this address."""

    default_detail = gettext_noop("too many mails to this address")


class InvitationLimitReached(InvitationRefused):
    """The company has reached its daily limit of invitations."""

    default_detail = gettext_noop("no more invitations today")


class UnknownConsultant(ValidationError):
    """The id is not one of the company's consultants, or that one already has a user."""

    default_detail = {"consultant_id": ["No consultant without a user has this id."]}
