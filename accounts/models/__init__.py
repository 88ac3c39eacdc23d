"""Companies, their users, and the consultant profiles that users may be linked to."""

from accounts.models.companies import Account, SecondFactor
from accounts.models.consultants import Consultant
from accounts.models.users import Role, User, UserQuerySet, next_token_version, stopped_inviting

__all__ = [
    "Account",
    "Consultant",
    "Role",
    "SecondFactor",
    "User",
    "UserQuerySet",
    "next_token_version",
    "stopped_inviting",
]
