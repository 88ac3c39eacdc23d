"""The schema: valid OpenAPI 3.1, kept as a file, and naming every route."""

import json
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator

from api.schema import openapi_json
from tests.routes import METHODS, OPERATIONS
from tests.tables import compare

METADATA = "OAuth clients find it by the protocol's own documents"
BY_SCIM = "/scim/v2/Schemas describes it"
PAGE = "a page for browsers"
OF_PAGES = "a call of the built-in pages alone"
# What the schema leaves out, each with its reason.
NOT_IN_SCHEMA = {
    "GET /": PAGE,
    "GET /docs": PAGE,
    "GET /{name}": PAGE,
    "GET /{name}{var}": PAGE,
    "GET /.well-known/change-password": PAGE,
    "GET /pages/account": OF_PAGES,
    "GET /pages/overview": OF_PAGES,
    "POST /pages/link": OF_PAGES,
    "GET /oauth/authorize": PAGE,
    "POST /oauth/authorize": PAGE,
    "GET /auth/authorize": PAGE,
    "POST /auth/authorize": PAGE,
    "POST /oauth/register": METADATA,
    "POST /oauth/token": METADATA,
    "POST /oauth/revoke": METADATA,
    "GET /.well-known/oauth-authorization-server": METADATA,
    "GET /.well-known/oauth-protected-resource": METADATA,
    "GET /.well-known/oauth-protected-resource/mcp": METADATA,
    "POST /mcp": "the Model Context Protocol describes itself",
    "POST /mcp/": "the Model Context Protocol describes itself",
    "GET /health/live": "for the process manager alone",
    "GET /metrics": "for the operator's Prometheus alone",
    "GET /admin": "redirects",
}
NOT_IN_SCHEMA |= dict.fromkeys([f"{name} /scim/v2/{{path}}" for name in METHODS], BY_SCIM)
NOT_IN_SCHEMA |= {f"{method} /admin": "redirects" for method in ("POST", "PUT", "PATCH", "DELETE")}


def test_schema_is_served_and_counted(api):
    response = api.get("/schema")

    assert response.status_code == 200
    assert response.content == openapi_json()
    assert "x-ratelimit-remaining" in response.headers


def test_schema_is_openapi_3_1():
    described = json.loads(openapi_json())

    assert described["openapi"].startswith("3.1")
    OpenAPIV31SpecValidator(described).validate()


def test_schema_file_is_up_to_date():
    file_content = Path("docs/openapi.json").read_bytes()

    assert file_content == openapi_json(), (
        "docs/openapi.json differs from the code: run `make schema`"
    )


def test_schema_has_every_route_or_the_reason_why_not():
    paths = json.loads(openapi_json())["paths"]
    described = {
        f"{method.upper()} {path}" for path, methods in paths.items() for method in methods
    }

    advice = "describe the call by `extend_schema`, or name it here in NOT_IN_SCHEMA with a reason"
    compare(described | NOT_IN_SCHEMA.keys(), OPERATIONS, advice)
    assert described & NOT_IN_SCHEMA.keys() == set()


def test_no_field_has_a_default_or_generated_types_would_require_it():
    schemas = json.loads(openapi_json())["components"]["schemas"]
    fields = {
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, described in schema.get("properties", {}).items()
        if "default" in described
    }

    assert fields == set(), "give these fields no `default`, but `required=False`"
