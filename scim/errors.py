"""Errors of provisioning. api.errors gives each its status and headers, ScimView its body. A text
is also shown to the company's admins, as the key's last problem, so it names no person."""

from rest_framework.exceptions import APIException

from accounts.errors import Conflict


class ScimError(APIException):
    """A request that scim2-server refuses. `scim_type` is "" where RFC 7644 has none."""

    def __init__(self, status: int, detail: str, scim_type: str, allowed: list[str]) -> None:
        super().__init__(detail)
        self.status_code, self.scim_type = status, scim_type
        self.allowed = allowed  # methods, of a 405


class InvalidValue(APIException):
    """A value that breaks a rule of the service's."""

    status_code = 400
    scim_type = "invalidValue"


class AddressNotAllowed(InvalidValue):
    """The address can't be mailed, or is in no proved domain. Its user was not looked up."""

    default_detail = "userName must be an e-mail address in a domain that your company has proved"


class AdminKeepsAddress(Conflict):
    """The user is an admin or keeps a password: a thief of the key could become the admin, by a
    link to another mailbox."""

    default_detail = "provisioning can't change the address of an admin"


class AdminKeepsPassword(Conflict):
    """A broken directory must not shut out the admins who may sign in without the provider."""

    default_detail = "provisioning can't deactivate an admin who keeps a password"
