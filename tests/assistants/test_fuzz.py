"""Generated arguments for every tool: each call is answered with 200."""

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
    lambda values: make.lists(values, max_size=3) | make.dictionaries(TEXT, values, max_size=3),
    max_leaves=8,
)
FUZZ_SETTINGS = settings(
    derandomize=True,
    max_examples=40,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def values_of(schema):
    """A strategy for values of the schema's type or enum, and for any others."""
    strategies = {
        "boolean": make.booleans(),
        "integer": make.integers(-1, 200),
        "string": TEXT | make.uuids().map(str) | make.emails(),
    }
    types = schema.get("type", "string")
    typed_values = [
        strategies[k] for k in ([types] if isinstance(types, str) else types) if k in strategies
    ]
    return make.one_of(make.sampled_from(schema.get("enum", [None])), *typed_values, ANYTHING)


def arguments_of(tool):
    properties = {name: values_of(part) for name, part in tool.input_schema["properties"].items()}
    return make.fixed_dictionaries({}, optional=properties) | make.dictionaries(TEXT, ANYTHING)


@pytest.mark.parametrize("name", list(tools.TOOLS))
def test_tool_answers_any_arguments(as_ada, name):
    tool = tools.TOOLS[name]

    @FUZZ_SETTINGS
    @given(arguments_of(tool))
    def call(arguments):
        answer = send(as_ada, "tools/call", name=name, arguments=arguments)
        result = answer.json()["result"]
        assert answer.status_code == 200
        assert ("error" in json.loads(result["content"][0]["text"])) is result["isError"]

    call()
