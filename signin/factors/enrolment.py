"""Enrolment tokens, for users who have shown a password or a link but lack the second factor that
their company requires. They open the calls that add a factor, and nothing else."""

from django.core import signing
from rest_framework.request import Request

from accounts.models import User
from accounts.tokens import BearerAuthentication, encoded_bearer_token

LIFE = 600  # seconds
SALT = "signin.enrolment"
ENROLMENT = "enrolment"  # as `request.auth`, in place of an access token


def enrolment_for(user: User) -> str:
    """A token for ten minutes, or until the user has a factor or their sessions are ended."""
    return signing.TimestampSigner(salt=SALT).sign_object([str(user.pk), user.token_version])


def user_of_enrolment(encoded: str) -> User | None:
    """The user of a valid enrolment token, `with_profile`."""
    try:
        pk, version = signing.TimestampSigner(salt=SALT).unsign_object(encoded, max_age=LIFE)
    except (signing.BadSignature, ValueError):
        return None
    user = User.objects.find_by_token(id=pk, token_version=version)
    return user if user and not user.has_second_factor else None


class EnrolmentAuthentication(BearerAuthentication):
    """Accepts an enrolment token or an access token."""

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        user = user_of_enrolment(encoded_bearer_token(request))
        return (user, ENROLMENT) if user else super().authenticate(request)
