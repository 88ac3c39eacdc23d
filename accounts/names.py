"""Sorting and searching names regardless of case and accents."""

import unicodedata
from typing import Any

from django.db.models import Func

# The SQL of `sort_key`, since servers without ICU have no collation that sorts like this. Of the
# combining marks it removes U+0300 to U+036F only. The first migration makes an index of it.
POSTGRESQL_SORT_KEY = (
    r"LOWER(REGEXP_REPLACE(NORMALIZE(%(expressions)s, NFKD), '[\u0300-\u036f]', '', 'g'))"
)


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
    """Receiver of connection_created: gives SQLite the function `sort_key`."""
    if connection.vendor == "sqlite":
        connection.connection.create_function("sort_key", 1, sort_key, deterministic=True)
