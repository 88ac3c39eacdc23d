"""Enrolment tokens, for users who have entered a password or used a link, but lack the second
factor that their company requires. They are valid only for the calls that add a factor."""

from rest_framework.request import Request

from accounts.models import User
from accounts.tokens import BearerAuthentication, encoded_bearer_token, find_session_user
from api.openapi import describe_credential
from base.sealed import InvalidSeal, Seal

ENROLMENT_SEAL = Seal("signin.enrolment", seconds=600, is_secret=False)
ENROLMENT = "enrolment"  # the value of `request.auth`, in place of an access token
ENROLMENT_SCHEME = {
    "type": "http",
    "scheme": "bearer",
    "description": "The `enrolment` of a sign-in whose company requires a second factor.",
}


def enrolment_for(user: User) -> str:
    """A token for the user. It is valid for ten minutes, but no longer once the user has a factor,
    is inactive or signed out, or must use the company's provider."""
    return ENROLMENT_SEAL.seal([str(user.pk), user.token_version])


class EnrolmentAuthentication(BearerAuthentication):
    """Accepts an enrolment token or an access token."""

    credentials = [
        *BearerAuthentication.credentials,
        describe_credential(ENROLMENT, ENROLMENT_SCHEME),
    ]

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        """The user and ENROLMENT for a valid enrolment token, else the user and the access token.
        None without an Authorization header. Raises AuthenticationFailed for any other token, and
        OperationalError (503) while this process has read no signing key."""
        try:
            pk, version = ENROLMENT_SEAL.unseal(encoded_bearer_token(request))
        except InvalidSeal:
            return super().authenticate(request)
        user = find_session_user(pk, version)
        if user is None or user.has_second_factor:
            return super().authenticate(request)
        return user, ENROLMENT
