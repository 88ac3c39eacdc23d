"""The schema: valid OpenAPI 3.1, kept as a file, and naming every route."""

import json
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from api.schema import openapi_json


def test_schema_is_served_and_counted(api):
    response = api.get("/schema")

    assert response.status_code == 200
    assert response.content == openapi_json()
    assert "x-ratelimit-remaining" in response.headers


def test_schema_is_openapi_3_1():
    described = json.loads(openapi_json())

    assert described["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(described).validate()


def test_kept_file_is_the_served_schema():
    kept = Path("docs/openapi.json").read_bytes()

    assert kept == openapi_json(), "the schema has changed: `make schema` writes it anew"


def test_no_field_has_a_default_or_generated_types_would_require_it():
    schemas = json.loads(openapi_json())["components"]["schemas"]
    fields = {
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, described in schema.get("properties", {}).items()
        if "default" in described
    }

    assert fields == set()
