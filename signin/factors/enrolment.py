"""Enrolment: what somebody is given who has shown a password or a link, and whose company requires
a second factor that they do not have. It opens the calls that add one, and nothing else."""

from dataclasses import dataclass

from django.core import signing
from rest_framework.request import Request

from accounts.authentication import BearerAuthentication, encoded_bearer_token
from accounts.models import User
from audit.macs import TimestampSigner

LIFE = 600  # seconds
SALT = "signin.enrolment"


@dataclass(frozen=True)
class Enrolment:
    """In the place of an access token, as `request.auth`."""


def enrolment_for(user: User) -> str:
    """Good for ten minutes, or until the person has a factor or their sessions are ended."""
    return TimestampSigner(salt=SALT).sign_object([str(user.pk), user.token_version])


def user_of_enrolment(encoded: str) -> User | None:
    """The person whom an enrolment was given to, `with_profile`, while it holds."""
    try:
        pk, version = TimestampSigner(salt=SALT).unsign_object(encoded, max_age=LIFE)
    except (signing.BadSignature, ValueError):
        return None
    people = User.objects.with_profile().filter(is_active=True, has_second_factor=False)
    user: User | None = people.filter(pk=pk, token_version=version).first()
    return user


class EnrolmentAuthentication(BearerAuthentication):
    """An enrolment, or else an access token as anywhere."""

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        user = user_of_enrolment(encoded_bearer_token(request))
        return (user, Enrolment()) if user else super().authenticate(request)
