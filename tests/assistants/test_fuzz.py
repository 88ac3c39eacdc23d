"""Generated arguments for every tool: each call is answered."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as make

from assistants import tools
from tests.assistants.conftest import send

pytestmark = pytest.mark.django_db

TEXT = make.text(max_size=40)
SCALARS = (
    make.none()
    | make.booleans()
    | make.integers()
    | make.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
ANYTHING = make.recursive(
    SCALARS,
    lambda inner: make.lists(inner, max_size=3) | make.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
QUIETLY = settings(
    derandomize=True,
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def value_of(schema):
    """Values that the schema's own words suggest, and any others."""
    fitting = {
        "boolean": make.booleans(),
        "integer": make.integers(-1, 200),
        "string": TEXT | make.uuids().map(str) | make.emails(),
    }
    kinds = schema.get("type", "string")
    suggested = [fitting[k] for k in ([kinds] if isinstance(kinds, str) else kinds) if k in fitting]
    return make.one_of(make.sampled_from(schema.get("enum", [None])), *suggested, ANYTHING)


def arguments_of(tool):
    known = {name: value_of(part) for name, part in tool.input_schema["properties"].items()}
    return make.fixed_dictionaries({}, optional=known) | make.dictionaries(TEXT, ANYTHING)


@pytest.mark.parametrize("name", list(tools.TOOLS))
def test_tool_answers_whatever_it_is_given(as_ada, name):
    tool = tools.TOOLS[name]

    @QUIETLY
    @given(arguments_of(tool))
    def call(arguments):
        answer = send(as_ada, "tools/call", name=name, arguments=arguments)
        result = answer.json()["result"]
        assert answer.status_code == 200
        assert ("error" in json.loads(result["content"][0]["text"])) is result["isError"]

    call()
