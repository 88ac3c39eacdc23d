"""Filters of SCIM (RFC 7644 §3.4.2.2) as conditions on users. Only the columns of COLUMNS can be
compared, and strings regardless of case, but for ids."""

from datetime import UTC, datetime
from functools import reduce
from operator import and_, or_
from typing import Any, cast
from uuid import UUID

from django.db.models import F, Func, Q, TextField, Value
from django.db.models.functions import Cast, Coalesce, Concat, Lower, Trim
from scim2_models import InvalidFilterException, ScimFilter
from scim2_models import path as nodes

from accounts.models import UserQuerySet
from api.fields import REFUSED_CHARACTERS

MAX_FILTER_LENGTH = 2000  # characters
MAX_COMPARISONS = 20
ADDRESSES = ["userName", "emails", "emails.value"]  # stored in lower case, with an index
FULL_NAME = Trim(Concat("first_name", Value(" "), "last_name"))
COLUMNS: dict[str, F | Func | Value] = {
    "id": Cast("id", TextField()),
    "externalId": F("scim__external_id"),
    **dict.fromkeys(ADDRESSES, F("email")),
    "emails.type": Value("work"),
    "emails.primary": Value(True),
    **dict.fromkeys(["name", "name.formatted", "displayName"], FULL_NAME),
    "name.givenName": F("first_name"),
    "name.familyName": F("last_name"),
    "active": F("is_active"),
    **dict.fromkeys(["meta", "meta.created"], F("created_at")),
    "meta.lastModified": Coalesce("scim__changed_at", "created_at"),
}
ORDER = {"eq": "exact", "gt": "gt", "ge": "gte", "lt": "lt", "le": "lte"}
CASE_EXACT = ORDER | {"co": "contains", "sw": "startswith", "ew": "endswith"}
NO_TEXTS = {"active", "emails.primary", "meta.created", "meta.lastModified"}
ALWAYS = Q(pk__isnull=False)


class Conditions(nodes.FilterVisitor[Q]):
    """Translates one parsed filter. Methods raise InvalidFilterException."""

    def __init__(self, scim_filter: ScimFilter[Any]) -> None:
        self.filter = scim_filter
        self.comparisons = 0
        self.parent: str | None = None  # within [ ], the attribute before it
        self.columns: dict[str, Any] = {}  # expressions in the conditions, by alias

    def select(self, users: UserQuerySet) -> UserQuerySet:
        """Those of the users who match, by a lazy query. Call it once."""
        condition = self.visit(self.filter.ast)
        return users.alias(**self.columns).filter(condition)

    def visit_comparison(self, node: nodes.Comparison) -> Q:
        """Return the condition of a comparison such as `userName eq "ada@example.com"`. Raises
        InvalidFilterException for an attribute, operator or value that can't be compared, and for
        more than MAX_COMPARISONS in the filter."""
        self.count_comparison()
        path = self.full_path(node.attr_path)
        name, operator = self.attribute_name(path), node.op.value
        binding = cast(nodes.AttributeBinding, self.filter.resolve_comparison(path))
        value = nodes.coerce_value(binding, node.value, node.op)
        if operator == "ne":
            return ~self.compare(name, "eq", value)
        return self.compare(name, operator, value)

    def compare(self, name: str, operator: str, value: Any) -> Q:
        """Return the condition `name operator value`, for a `name` in COLUMNS, an operator other
        than "ne", and a value of the attribute's type. Strings are compared regardless of case, but
        for ids. "eq null" is true of an empty attribute; other comparisons with null are false.
        Raises InvalidFilterException for an unsuitable operator or value."""
        if value is None:
            return ~self.present(name) if operator == "eq" else ~ALWAYS
        if name == "id" and operator == "eq":
            return Q(pk=value) if is_id(value) else ~ALWAYS
        lookups = CASE_EXACT if isinstance(value, str) else ORDER
        is_mismatch = name == "meta" or (isinstance(value, str) and name in NO_TEXTS)
        if operator not in lookups or is_mismatch:
            raise InvalidFilterException(detail=f"{name} can't be compared by {operator}")
        expression, in_company = COLUMNS[name], Q()
        if isinstance(value, datetime):
            value = in_utc(value)
        elif isinstance(value, str):
            if REFUSED_CHARACTERS.search(value):
                raise InvalidFilterException(detail="a value has control characters")
            if name == "externalId":
                in_company = Q(scim__account=F("account"))  # the index begins with the company
            elif name != "id":
                value = value.lower()
                if name not in ADDRESSES:
                    name, expression = f"{name}_lower", Lower(expression)
        column = self.column(name, expression)
        return Q((f"{column}__{lookups[operator]}", value)) & in_company

    def visit_present(self, node: nodes.Present) -> Q:
        self.count_comparison()
        return self.present(self.attribute_name(self.full_path(node.attr_path)))

    def present(self, name: str) -> Q:
        """The condition that the attribute isn't empty, as only the names and externalId can be."""
        is_text = name.startswith(("externalId", "name", "displayName"))
        return Q((f"{self.column(name, COLUMNS[name])}__gt", "")) if is_text else ALWAYS

    def count_comparison(self) -> None:
        """Raise InvalidFilterException after MAX_COMPARISONS calls, one for each comparison."""
        self.comparisons += 1
        if self.comparisons > MAX_COMPARISONS:
            raise InvalidFilterException(detail=f"more than {MAX_COMPARISONS} comparisons")

    def full_path(self, path: nodes.AttrPath) -> nodes.AttrPath:
        """Return the path with the attribute before [ ]: `emails.type` for the `type` in
        `emails[type pr]`. Outside of [ ] the path is complete."""
        return nodes.AttrPath(self.parent, path.attr) if self.parent else path

    def attribute_name(self, path: nodes.AttrPath) -> str:
        """Return the name in COLUMNS of the attribute with this full path. Raises
        InvalidFilterException for another attribute."""
        binding = cast(nodes.AttributeBinding, self.filter.resolve(path))
        name = binding.urn.rpartition(":")[2]
        if name not in COLUMNS:
            raise InvalidFilterException(detail="this attribute can't be filtered by")
        return name

    def column(self, name: str, expression: Any) -> str:
        """Return how a condition names this expression: by its field, or else by an alias, made
        from `name`, which `select` adds to the query."""
        if isinstance(expression, F):
            return str(expression.name)
        alias = f"scim_{name.replace('.', '_')}"
        self.columns[alias] = expression
        return alias

    def visit_not(self, node: nodes.Not) -> Q:
        return ~self.visit(node.expr)

    def visit_logical_expr(self, node: nodes.LogicalExpr) -> Q:
        join = and_ if node.op == nodes.LogicalOperator.and_ else or_
        return reduce(join, [self.visit(term) for term in node.terms])

    def visit_value_path(self, node: nodes.ValuePath) -> Q:
        """Each user has exactly one address, so a selection is its inner filter."""
        self.parent = node.attr_path.attr
        condition = self.visit(node.val_filter)
        self.parent = None
        return condition


def in_utc(time: datetime) -> datetime:
    """Return the time in UTC, as which a time without a zone is read: PostgreSQL refuses zones from
    16 hours. Raises InvalidFilterException if the year in UTC is not from 1 to 9999."""
    try:
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise InvalidFilterException(detail="this time is out of range") from None


def is_id(text: str) -> bool:
    """Whether the text is a UUID as answers spell it, in lower case with hyphens."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
