"""Errors of inviting: a status and the words that decisions fixed; config.errors shapes them."""

from rest_framework.exceptions import APIException, ValidationError


class AlreadyMember(APIException):
    """The address is a user of the inviting company. Nobody learns of another company's users."""

    status_code = 409
    default_detail = "already a member"


class AlreadyInvited(APIException):
    """The company has a pending invitation for the address."""

    status_code = 409
    default_detail = "already invited"


class InvitationClosed(APIException):
    """The invitation has been accepted or revoked."""

    status_code = 409
    default_detail = "invitation is no longer open"


class MailLimitReached(APIException):
    """The address has had its mails of the hour. Told to operators alone, so far."""

    status_code = 409
    default_detail = "has had its mails of the hour"


class UnknownConsultant(ValidationError):
    """No consultant of the company, or one who has a user already."""

    default_detail = {"consultant_id": ["No consultant without a user has this id."]}
