"""How names with letters beyond ASCII are sorted, and found on SQLite."""

import re
import unicodedata
from functools import lru_cache
from typing import Any

from django.db.models import Func

# Not by a collation: servers without ICU have none for people. Indexed by the first migration.
POSTGRESQL_SORT_KEY = (
    r"LOWER(REGEXP_REPLACE(NORMALIZE(%(expressions)s, NFKD), '[\u0300-\u036f]', '', 'g'))"
)
LIKE_WILDCARDS = {"%": ".*", "_": "."}


@lru_cache(maxsize=256)
def like_pattern(pattern: str) -> re.Pattern[str]:
    """A LIKE pattern, in which a backslash escapes, as a regular expression."""
    tokens = re.findall(r"\\?.", pattern.casefold(), re.DOTALL)
    return re.compile(
        "".join(LIKE_WILDCARDS.get(one) or re.escape(one[-1]) for one in tokens), re.S
    )


def is_like(pattern: Any, value: Any, _escape: str) -> bool | None:
    """The operator `value LIKE pattern ESCAPE '\\'`, which Django's lookups use."""
    if pattern is None or value is None:
        return None
    return like_pattern(str(pattern)).fullmatch(str(value).casefold()) is not None


def sort_key(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in plain if not unicodedata.combining(letter)).lower()


class SortKey(Func):
    """A name's place among others, whatever its case and accents and the database's locale."""

    function = "sort_key"
    arity = 1

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        return self.as_sql(compiler, connection, template=POSTGRESQL_SORT_KEY)


def extend_sqlite(connection: Any, **_: Any) -> None:
    """For each new connection."""
    if connection.vendor == "sqlite":
        connection.connection.create_function("like", 3, is_like, deterministic=True)
        connection.connection.create_function("sort_key", 1, sort_key, deterministic=True)
