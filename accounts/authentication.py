"""Reads the bearer token (RFC 6750) once a request, and loads its user in one query."""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework_simplejwt.exceptions import TokenError

from accounts.models import User
from accounts.tokens import AccessToken, Claims, Token, refuse_missing_key

# The ORM makes the same SQL anew each time: 0.6 of the 1.1 ms of CPU that `GET /auth/me` needs, and
# 2.5 of a log-in's 26 (`make bench`); its answer is the ORM's to the last column, as a test holds.
# A manager could have been narrowed; these ask the whole table, and are no methods of one.
USER_SQL = """
SELECT {columns}, profile.id,
    EXISTS (SELECT 1 FROM accounts_consultant WHERE manager_id = person.id){more}
FROM accounts_user person
    LEFT JOIN accounts_consultant profile ON profile.user_id = person.id {joins}
WHERE {condition}
"""
COLUMNS = [field.attname for field in User._meta.concrete_fields]
PROFILE = ["profile_id", "manages"]
Row = Sequence[Any]


def user_sql(condition: str, more: Sequence[str] = (), joins: str = "") -> str:
    """A statement for `find_user`; `more` columns come after the user's, `person` is the user."""
    columns = ", ".join(f"person.{name}" for name in COLUMNS)
    others = "".join(f", {column}" for column in more)
    return USER_SQL.format(columns=columns, more=others, joins=joins, condition=condition)


def find_user(sql: str, values: dict[str, Any]) -> tuple[User | None, Row]:
    """The one user of a `user_sql`, `with_profile`, and what more it asked for. For PostgreSQL: the
    embedded database gives columns in other types than Django wants."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        row = cursor.fetchone()
    if row is None:
        return None, ()
    user = User.from_db("default", COLUMNS, row[: len(COLUMNS)])
    profile, more = row[len(COLUMNS) :][: len(PROFILE)], row[len(COLUMNS) + len(PROFILE) :]
    vars(user).update(zip(PROFILE, profile, strict=True))
    return user, more


NAMED = "person.id = %(id)s AND person.token_version = %(token_version)s AND person.is_active"
LOCKED = """EXISTS (SELECT 1 FROM throttling_lockout
    WHERE email = person.email AND device = '' AND locked_until > %(now)s)"""
BY_TOKEN = user_sql(NAMED)
BY_TOKEN_WITH_LOCK = user_sql(NAMED, [LOCKED])


def bearer_token(request: Request) -> AccessToken | None:
    """The request's access token if its signature, expiry and claims hold; checked once.

    The limiter asks first, for the caller's name; the authentication then finds it read.
    """
    kept = vars(request)
    if "bearer_token" not in kept:
        encoded = encoded_bearer_token(request)
        try:
            kept["bearer_token"] = AccessToken(encoded) if encoded else None
        except TokenError:
            kept["bearer_token"] = None
    token: AccessToken | None = kept["bearer_token"]
    return token


def encoded_bearer_token(request: Request) -> str:
    """What comes after `Authorization: Bearer`, or ""."""
    scheme, _, encoded = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    # RFC 9110 §11.1: the scheme's case does not matter.
    return str(encoded).strip() if scheme.lower() == "bearer" else ""


def id_in_bearer_token(request: Request) -> str | None:
    """Whom a request is counted for: the user's id in a token that holds, without a query."""
    token = bearer_token(request)
    return token["sub"] if token else None


def user_of_token(claims: Token | Claims, *, with_lock: bool = False) -> User | None:
    """The active user whom a token's claims name, `with_profile`, or None; None too when the
    sessions were ended since the token was issued.

    With `with_lock` the same statement fills `locked`.
    """
    wanted = {"id": claims["sub"], "token_version": claims["token_version"]}
    if connection.vendor != "postgresql":
        found: User | None = User.objects.with_profile().filter(is_active=True, **wanted).first()
        return found
    if not with_lock:
        return find_user(BY_TOKEN, wanted)[0]
    user, locked = find_user(BY_TOKEN_WITH_LOCK, wanted | {"now": timezone.now()})
    if user is not None:
        vars(user)["locked"] = locked[0]
    return user


class BearerAuthentication(BaseAuthentication):
    """`request.user` is the active user whom the token names, whose sessions have not been ended
    since; `request.auth` is the token. A call without a token is nobody's."""

    def authenticate(self, request: Request) -> tuple[User, object] | None:
        """Raises AuthenticationFailed for a token that does not hold, SigningKeyMissing for one
        that this host cannot tell."""
        if "HTTP_AUTHORIZATION" not in request.META:
            return None
        token = bearer_token(request)
        if token is None:
            refuse_missing_key(encoded_bearer_token(request))
            raise AuthenticationFailed
        user = user_of_token(token)
        if user is None:
            raise AuthenticationFailed
        return user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
