"""Why an invitation is not sent, sent again or revoked."""

from django.utils.translation import gettext_noop
from rest_framework.exceptions import ValidationError

from accounts.errors import Conflict


class InvitationRefused(Conflict):
    """The company can't send or revoke the invitation; the subclasses say why."""


class AlreadyMember(InvitationRefused):
    """The address belongs to a user of the inviting company. Users of others are not revealed."""

    default_detail = gettext_noop("already a member")


class CannotAccept(InvitationRefused):
    """The address belongs to a user of another company, and the inviting company has proved the
    address's domain. Who controls the domain can read its mail, and so learn this anyway. Other
    companies are not told, as anyone can found one and ask."""

    default_detail = gettext_noop("can't be accepted with this address")


class AlreadyInvited(InvitationRefused):
    default_detail = gettext_noop("already invited")


class InvitationClosed(InvitationRefused):
    """The invitation was accepted, revoked or deleted."""

    default_detail = gettext_noop("invitation is no longer open")


class MailLimitReached(InvitationRefused):
    default_detail = gettext_noop("too many mails to this address")


class InvitationLimitReached(InvitationRefused):
    default_detail = gettext_noop("no more invitations today")


class UnknownConsultant(ValidationError):
    """No consultant of the company has the id, or the consultant already has a user."""

    default_detail = {"consultant_id": ["No consultant without a user has this id."]}


# The errors of inviting and of sending an invitation again.
SENDING_ERRORS = (
    AlreadyMember,
    CannotAccept,
    AlreadyInvited,
    MailLimitReached,
    InvitationLimitReached,
)
