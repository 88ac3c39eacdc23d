"""Filters of SCIM (RFC 7644 §3.4.2.2) as conditions on users. Only the columns of COLUMNS can be
compared, and strings regardless of case, but for ids."""

from datetime import UTC, datetime
from functools import reduce
from operator import and_, or_
from typing import Any
from uuid import UUID

from django.db.models import F, Func, Q, TextField, Value
from django.db.models.functions import Cast, Coalesce, Concat, Lower, Trim
from scim2_models import InvalidFilterException, ScimFilter
from scim2_models.path import (
    AttrPath,
    CompareOperator,
    Comparison,
    FilterVisitor,
    LogicalExpr,
    LogicalOperator,
    Not,
    Present,
    ValuePath,
)
from scim2_models.path.resolution import coerce_value

from accounts.models import UserQuerySet
from api.fields import REFUSED_CHARACTERS

MAX_FILTER_LENGTH = 2000  # characters
MAX_COMPARISONS = 20  # and as many negations
FULL_NAME = Trim(Concat("first_name", Value(" "), "last_name"))
COLUMNS: dict[str, F | Func | Value] = {
    "id": Cast("id", TextField()),
    "externalId": Coalesce("scim__external_id", Value("")),
    "userName": F("email"),
    "emails": F("email"),
    "emails.value": F("email"),
    "emails.type": Value("work"),
    "emails.primary": Value(True),
    "name": FULL_NAME,
    "name.formatted": FULL_NAME,
    "name.givenName": F("first_name"),
    "name.familyName": F("last_name"),
    "displayName": FULL_NAME,
    "active": F("is_active"),
    "meta": F("created_at"),
    "meta.created": F("created_at"),
    "meta.lastModified": Coalesce("scim__changed_at", "created_at"),
}
ORDER = {"eq": "exact", "gt": "gt", "ge": "gte", "lt": "lt", "le": "lte"}
CASE_EXACT = ORDER | {"co": "contains", "sw": "startswith", "ew": "endswith"}
ADDRESSES = {"userName", "emails", "emails.value"}  # stored in lower case, with an index
ALWAYS = Q(pk__isnull=False)


def matching(users: UserQuerySet, scim_filter: ScimFilter[Any]) -> UserQuerySet:
    """Those of the users who match. Raises InvalidFilterException."""
    condition = Conditions(scim_filter)
    return condition.select(users)


class Conditions(FilterVisitor[Q]):
    """Translates one filter, whose attributes and values scim2-models has checked."""

    def __init__(self, scim_filter: ScimFilter[Any]) -> None:
        self.filter = scim_filter
        self.comparisons = self.negations = 0
        self.parent: str | None = None  # within [ ], the attribute before it
        self.columns: dict[str, Any] = {}  # those that the filter names, by alias

    def select(self, users: UserQuerySet) -> UserQuerySet:
        condition = self.visit(self.filter.ast)
        return users.alias(**self.columns).filter(condition)

    def visit_comparison(self, node: Comparison) -> Q:
        binding, name, alias = self.column(node.attr_path)
        value, operator = coerce_value(binding, node.value, node.op), node.op.value
        if operator == CompareOperator.ne:
            return ~self.compare(name, alias, "eq", value)
        return self.compare(name, alias, operator, value)

    def compare(self, name: str, alias: str, operator: str, value: Any) -> Q:
        """The condition for an operator other than `ne`."""
        if value is None:
            return ~self.present(name, alias) if operator == "eq" else ~ALWAYS
        if name == "id" and operator == "eq":
            return Q(pk=value) if is_id(value) else ~ALWAYS
        lookups = ORDER if isinstance(value, bool | datetime) else CASE_EXACT
        if isinstance(value, datetime) and value.tzinfo is None:
            value = value.replace(tzinfo=UTC)
        elif isinstance(value, str):
            if REFUSED_CHARACTERS.search(value):
                raise InvalidFilterException(detail="a value has control characters")
            if name not in {"id", "externalId"}:
                value = value.lower()
                if name not in ADDRESSES:
                    alias = self.alias(f"{name}.lower", Lower(COLUMNS[name]))
        if operator not in lookups:
            raise InvalidFilterException(detail=f"{name} can't be compared by {operator}")
        return Q((f"{alias}__{lookups[operator]}", value))

    def visit_present(self, node: Present) -> Q:
        _, name, alias = self.column(node.attr_path)
        return self.present(name, alias)

    def present(self, name: str, alias: str) -> Q:
        is_text = name == "externalId" or name.startswith("name") or name == "displayName"
        return ~Q((alias, "")) if is_text else ALWAYS

    def column(self, path: AttrPath) -> tuple[Any, str, str]:
        """The attribute's binding, its name in COLUMNS, and the alias of its column. Raises
        InvalidFilterException for another one, and for too many comparisons."""
        self.comparisons += 1
        if self.comparisons > MAX_COMPARISONS:
            raise InvalidFilterException(detail=f"more than {MAX_COMPARISONS} comparisons")
        if self.parent:
            path = AttrPath(self.parent, path.attr)
        binding = self.filter.resolve(path)
        name = binding.urn.rpartition(":")[2] if binding else ""
        if name not in COLUMNS:
            raise InvalidFilterException(detail="this attribute can't be filtered by")
        return self.filter.resolve_comparison(path), name, self.alias(name, COLUMNS[name])

    def alias(self, name: str, expression: Any) -> str:
        """The name by which the condition calls this column."""
        alias = f"scim_{name.replace('.', '_')}"
        self.columns[alias] = expression
        return alias

    def visit_not(self, node: Not) -> Q:
        self.negations += 1
        if self.negations > MAX_COMPARISONS:
            raise InvalidFilterException(detail=f"more than {MAX_COMPARISONS} negations")
        return ~self.visit(node.expr)

    def visit_logical_expr(self, node: LogicalExpr) -> Q:
        join = and_ if node.op == LogicalOperator.and_ else or_
        return reduce(join, [self.visit(term) for term in node.terms])

    def visit_value_path(self, node: ValuePath) -> Q:
        """Each user has exactly one address, so a selection is its inner filter."""
        self.parent = node.attr_path.attr
        condition = self.visit(node.val_filter)
        self.parent = None
        return condition


def is_id(text: str) -> bool:
    """Whether the text is an id of a user, as SCIM spells it."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
