"""Sorting names regardless of case and accents, and searching them as people type them."""

import unicodedata
from functools import reduce
from typing import Any

from django.db.models import Func

# The SQL of `sort_key`, since servers without ICU have no collation that sorts like this. Of the
# combining marks it removes U+0300 to U+036F only. The first migration makes an index of it.
POSTGRESQL_SORT_KEY = (
    r"LOWER(REGEXP_REPLACE(NORMALIZE(%(expressions)s, NFKD), '[\u0300-\u036f]', '', 'g'))"
)

# Letters without a decomposition, and what people type in their place; the sigma at the end of a
# word, which has the same capital as any other; the yeh and the kaf of Arabic keyboards, for which
# Persian ones have others; apostrophes, as phones type them; and a hyphen.
LETTERS = (
    "\u0111\u00f0\u0127\u0131\u0142\u00f8\u0167\u03c2\u064a\u0649\u0643\u2019\u2018\u02bc\u2010"
)
TYPED_LETTERS = "ddhilot\u03c3\u06cc\u06cc\u06a9'''-"
LETTER_PAIRS = {"\u00df": "ss", "\u00e6": "ae", "\u0153": "oe", "\u00fe": "th"}
# What people leave out: the vowels and the hamza of Arabic, and invisible joiners.
OMITTED_MARKS = "".join(map(chr, range(0x64B, 0x656))) + "\u200c\u200d"
SEARCHED_LETTERS = str.maketrans(
    dict(zip(LETTERS, TYPED_LETTERS, strict=True)) | LETTER_PAIRS | dict.fromkeys(OMITTED_MARKS, "")
)
# The SQL of `search_key`.
POSTGRESQL_SEARCH_KEY = reduce(
    "REPLACE({0}, '{1[0]}', '{1[1]}')".format,
    LETTER_PAIRS.items(),
    "TRANSLATE({}, '{}', '{}')".format(
        POSTGRESQL_SORT_KEY, LETTERS + OMITTED_MARKS, TYPED_LETTERS.replace("'", "''")
    ),
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


def search_key(name: str) -> str:
    """The `sort_key` of the name, with SEARCHED_LETTERS replaced or left out."""
    return sort_key(name).translate(SEARCHED_LETTERS)


class SearchKey(Func):
    """The `search_key` of a column or a value, by which a query finds names."""

    function = "search_key"
    arity = 1

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        return self.as_sql(compiler, connection, template=POSTGRESQL_SEARCH_KEY)


def extend_sqlite(connection: Any, **_: Any) -> None:
    """Receiver of connection_created: gives SQLite the functions `sort_key` and `search_key`."""
    if connection.vendor == "sqlite":
        for function in (sort_key, search_key):
            name = function.__name__
            connection.connection.create_function(name, 1, function, deterministic=True)
