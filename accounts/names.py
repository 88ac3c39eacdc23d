"""Sorting names regardless of case and accents, and what SQLite lacks for it and for searching."""

import re
import unicodedata
from functools import lru_cache
from typing import Any

from django.db.models import Func

# The SQL of `sort_key`, since servers without ICU have no collation that sorts like this. Of the
# combining marks it removes U+0300 to U+036F only. The first migration makes an index of it.
POSTGRESQL_SORT_KEY = (
    r"LOWER(REGEXP_REPLACE(NORMALIZE(%(expressions)s, NFKD), '[\u0300-\u036f]', '', 'g'))"
)
LIKE_WILDCARDS = {"%": ".*", "_": "."}


@lru_cache(maxsize=256)
def like_pattern(pattern: str) -> re.Pattern[str]:
    """A LIKE pattern, in which `\\` escapes, as a regular expression for text after `casefold`."""
    tokens = re.findall(r"\\?.", pattern.casefold(), re.DOTALL)
    parts = [LIKE_WILDCARDS.get(token) or re.escape(token[-1]) for token in tokens]
    return re.compile("".join(parts), re.DOTALL)


def is_like(pattern: Any, value: Any, _escape: str) -> bool | None:
    """Whether the value matches the pattern, regardless of any letter's case; None (NULL) if either
    is None. SQLite calls this for `value LIKE pattern ESCAPE '\\'`: its own LIKE ignores the case
    of ASCII letters only."""
    if pattern is None or value is None:
        return None
    return like_pattern(str(pattern)).fullmatch(str(value).casefold()) is not None


def sort_key(name: str) -> str:
    """The name in lower case, in compatibility form (NFKD) and without combining marks."""
    decomposed = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).lower()


class SortKey(Func):
    """The `sort_key` of a column, by which a query sorts names in any locale of the database."""

    function = "sort_key"
    arity = 1

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        return self.as_sql(compiler, connection, template=POSTGRESQL_SORT_KEY)


def extend_sqlite(connection: Any, **_: Any) -> None:
    """Receiver of connection_created: gives SQLite the functions `like` and `sort_key`."""
    if connection.vendor == "sqlite":
        connection.connection.create_function("like", 3, is_like, deterministic=True)
        connection.connection.create_function("sort_key", 1, sort_key, deterministic=True)
