"""Querysets whose SQL is made once: for what every signed-in request asks.

Django makes a query's SQL anew each time, which for a user with its profile takes 0.6 ms of CPU,
twice what all the rest of `GET /auth/me` does. The SQL still comes from the queryset alone.
"""

import functools
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import connections, models

Row = TypeVar("Row", bound=models.Model)


class Parameter(models.Expression):
    """A value that is given when the query is made: `Parameter("pk", models.UUIDField())`."""

    def __init__(self, name: str, output_field: models.Field) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        return "%s", [self]

    def adapt(self, values: dict[str, Any], connection: Any) -> Any:
        return self.output_field.get_db_prep_value(values[self.name], connection)


class Compiled(NamedTuple):
    sql: str
    params: tuple[Any, ...]
    converters: list[tuple[int, Any, Any]]  # (column, function, expression)
    fields: list[str]  # of the model, from column `begin` on
    begin: int
    annotations: dict[str, int]


class PreparedQuery(Generic[Row]):
    """A queryset for at most one row; where it varies, its filters name a Parameter."""

    def __init__(self, queryset: models.QuerySet[Row]) -> None:
        self.queryset = queryset.order_by()  # an order costs PostgreSQL a sort, of one row too

    @functools.cached_property
    def compiled(self) -> Compiled:
        compiler = self.queryset.query.get_compiler(self.queryset.db)
        sql, params = compiler.as_sql()
        expressions = [column[0] for column in compiler.select]
        converters = [
            (column, function, expression)
            for column, (functions, expression) in compiler.get_converters(expressions).items()
            for function in functions
        ]
        columns = compiler.klass_info["select_fields"]
        fields = [expressions[column].target.attname for column in columns]
        return Compiled(sql, params, converters, fields, columns[0], compiler.annotation_col_map)

    def get(self, **values: Any) -> Row | None:
        """The row for these parameters, or None."""
        query, connection = self.compiled, connections[self.queryset.db]
        params = [
            param.adapt(values, connection) if isinstance(param, Parameter) else param
            for param in query.params
        ]
        with connection.cursor() as cursor:
            cursor.execute(query.sql, params)
            found = cursor.fetchone()
        if found is None:
            return None
        row = list(found)
        for column, function, expression in query.converters:
            row[column] = function(row[column], expression, connection)
        end = query.begin + len(query.fields)
        made = self.queryset.model.from_db(self.queryset.db, query.fields, row[query.begin : end])
        for name, column in query.annotations.items():
            setattr(made, name, row[column])
        return made
