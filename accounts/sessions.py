"""The user of a token: the one statement of every signed-in request."""

import functools

from django.db import connection
from django.utils import timezone
from rest_framework_simplejwt.tokens import Token

from accounts.models import User
from accounts.tokens import Claims

# The ORM takes 0.6 of the 1.1 ms of CPU that `GET /auth/me` needs to make the same SQL each time
# (`make bench`); its answer is the ORM's to the last column, as a test holds.
USER_SQL = """
SELECT {columns}, profile.id,
    EXISTS (SELECT 1 FROM accounts_consultant WHERE manager_id = person.id){locked}
FROM accounts_user person LEFT JOIN accounts_consultant profile ON profile.user_id = person.id
WHERE person.id = %(id)s AND person.token_version = %(token_version)s AND person.is_active
"""
LOCKED = """, EXISTS (SELECT 1 FROM throttling_lockout
    WHERE email = person.email AND device = '' AND locked_until > %(now)s)"""
COLUMNS = [field.attname for field in User._meta.concrete_fields]
ANNOTATIONS = ["profile_id", "manages", "locked"]


def user_of_token(claims: Token | Claims, *, with_lock: bool = False) -> User | None:
    """The active user whom a token's claims name, `with_profile`, or None; None too when the
    sessions were ended since the token was issued.

    With `with_lock` the same statement fills `locked`. The embedded database gives columns in
    other types than Django wants, and is asked by the ORM.
    """
    wanted = {"id": claims["sub"], "token_version": claims["token_version"]}
    if connection.vendor != "postgresql":
        found: User | None = User.objects.with_profile().filter(is_active=True, **wanted).first()
        return found
    with connection.cursor() as cursor:
        cursor.execute(user_sql(with_lock), wanted | {"now": timezone.now()})
        row = cursor.fetchone()
    return user_from_row(row) if row else None


@functools.cache
def user_sql(with_lock: bool) -> str:
    columns = ", ".join(f"person.{name}" for name in COLUMNS)
    return USER_SQL.format(columns=columns, locked=LOCKED if with_lock else "")


def user_from_row(row: tuple[object, ...]) -> User:
    """The user of a row of USER_SQL, with what stands in it beside the columns."""
    user = User.from_db("default", COLUMNS, row[: len(COLUMNS)])
    vars(user).update(zip(ANNOTATIONS, row[len(COLUMNS) :], strict=False))
    return user
