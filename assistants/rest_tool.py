"""`RestTool`: one of the REST API's calls as a tool.

A tool has no rules of its own. The view's `permission_classes` decide who may use it, its OpenAPI
description has the schema, and its method is called.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, QueryDict
from drf_spectacular.generators import SchemaGenerator
from pydantic_core import from_json
from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer
from rest_framework.views import APIView

from accounts.urls import urlpatterns as accounts
from api.openapi import JsonObject
from api.views import CountedRequest
from invitations.urls import urlpatterns as invitations
from passwords.urls import urlpatterns as passwords
from signin.urls import urlpatterns as signin

# The keywords of JSON Schema that assistants need.
SCHEMA_KEYWORDS = {"type", "properties", "items", "enum", "required"}
# The tools that list ids, by the name of the id in a path.
ID_SOURCES = {"user_id": "list_users", "invitation_id": "list_invitations"}


@functools.cache
def openapi_document() -> JsonObject:
    """The OpenAPI description of the calls that tools are made from."""
    generator = SchemaGenerator(patterns=[*accounts, *invitations, *passwords, *signin])
    document: JsonObject = generator.get_schema(request=None, public=True)
    return document


def short_schema(schema: JsonObject) -> JsonObject:
    """The schema with its `$ref`s resolved, the first schema in place of a `oneOf`, and only the
    SCHEMA_KEYWORDS, since longer schemas cost users tokens."""
    if "$ref" in schema:
        target = openapi_document()
        for name in schema["$ref"].split("/")[1:]:
            target = target[name]
        return short_schema(target)
    if "oneOf" in schema:
        return short_schema(schema["oneOf"][0])  # one item, if the call takes a list, too
    inlined = {name: part for name, part in schema.items() if name in SCHEMA_KEYWORDS}
    if "properties" in inlined:
        properties = inlined["properties"].items()
        inlined["properties"] = {name: short_schema(part) for name, part in properties}
    return inlined | ({"items": short_schema(inlined["items"])} if "items" in inlined else {})


@dataclass(frozen=True)
class RestTool:
    """One of the API's operations as a tool."""

    name: str
    title: str
    view: type[APIView]
    operation: str  # method and path in the OpenAPI document: "PATCH /users/{user_id}"
    description: str
    argument_help: Mapping[str, str] = field(default_factory=dict)  # descriptions by name
    hidden_arguments: frozenset[str] = frozenset()  # those that only front-ends need
    destructive: bool = False
    open_world: bool = False

    @property
    def method(self) -> str:
        return self.operation.split()[0].lower()

    @property
    def read_only(self) -> bool:
        return self.method == "get"

    @functools.cached_property
    def operation_schema(self) -> JsonObject:
        schema: JsonObject = openapi_document()["paths"][self.operation.split()[1]][self.method]
        return schema

    @functools.cached_property
    def parameters(self) -> dict[str, JsonObject]:
        """OpenAPI's descriptions of the arguments in the path and the query, by name."""
        parameters = self.operation_schema.get("parameters", [])
        return {item["name"]: item for item in parameters if item["in"] in {"path", "query"}}

    @functools.cached_property
    def input_schema(self) -> JsonObject:
        """The JSON Schema of the arguments in the path, the query and the body."""
        content = self.operation_schema.get("requestBody", {}).get("content", {})
        body = short_schema(content.get("application/json", {}).get("schema", {}))
        schemas = {name: short_schema(item["schema"]) for name, item in self.parameters.items()}
        schemas |= body.get("properties", {})
        texts = {name: {"description": text} for name, text in self.argument_help.items()}
        properties = {
            name: schema | texts.get(name, {})
            for name, schema in schemas.items()
            if name not in self.hidden_arguments
        }
        required = [name for name, item in self.parameters.items() if item.get("required")]
        required += body.get("required", [])
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": required} if required else {})

    def list_entry(self) -> JsonObject:
        """The tool in the result of tools/list."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": {
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": self.method in {"get", "patch"},
                "openWorldHint": self.open_world,
            },
        }

    def is_allowed_for(self, request: CountedRequest) -> bool:
        view = self.view()
        permissions = view.get_permissions()
        return all(permission.has_permission(request, view) for permission in permissions)

    def call(self, request: CountedRequest, arguments: JsonObject) -> JsonObject:
        """Make the REST call with the `without_empty_values` of the arguments, which are unchecked.
        Returns the result of tools/call: the REST call's answer, or an error, also for invalid
        arguments. The caller has checked `is_allowed_for`, and counted the request."""
        arguments = without_empty_values(self.input_schema, arguments)
        path_names = [name for name, item in self.parameters.items() if item["in"] == "path"]
        ids = {name: parse_id(arguments.get(name)) for name in path_names}
        # The view can check neither of these: unknown arguments, and the ids in the path.
        unknown_arguments = arguments.keys() - self.input_schema["properties"].keys()
        reasons = {name: ["Unknown argument."] for name in unknown_arguments}
        advice = {name: f"Get ids from {ID_SOURCES[name]}." for name in path_names}
        reasons |= {name: [f"Not a valid id. {advice[name]}"] for name in ids if not ids[name]}
        if reasons:
            return error_result({"error": "invalid request", "fields": reasons})
        body = {name: part for name, part in arguments.items() if name not in self.parameters}
        rest_request = ToolRequest(request, self.query_arguments(arguments), body)
        view: Any = self.view()
        view.setup(rest_request, **ids)
        try:
            answer = getattr(view, self.method)(rest_request, **ids).data or {}
        except (APIException, Http404, PermissionDenied) as error:
            response = view.handle_exception(error)
            texts = advice.values() if response.status_code == 404 else ()
            return error_result(response.data, *texts)
        return {"content": [text_content(answer)], "structuredContent": answer, "isError": False}

    def query_arguments(self, arguments: JsonObject) -> QueryDict:
        """The arguments that belong in the query; values other than texts as JSON."""
        query = QueryDict(mutable=True)
        for name, item in self.parameters.items():
            if item["in"] == "query" and name in arguments:
                value = arguments[name]
                query[name] = value if isinstance(value, str) else json.dumps(value)
        return query


class ToolRequest(CountedRequest):
    """The request that a tool passes to the REST view: that of the MCP request's user, with the
    tool's query and body. It was counted with the MCP request."""

    def __init__(self, request: CountedRequest, query: QueryDict, body: JsonObject) -> None:
        http_request = HttpRequest()
        http_request.META, http_request.GET = request.META, query
        vars(http_request)["rate_limit"] = request.rate_limit
        super().__init__(http_request)
        self.user, self.auth = request.user, request.auth
        self.body_data = body

    @property
    def data(self) -> JsonObject:
        return self.body_data


def without_empty_values(schema: JsonObject, values: JsonObject) -> JsonObject:
    """The values for an object of this schema without those that mean nothing, and with objects
    that came as JSON in a text. Some clients send every optional value, as null or as an empty
    text. None of the tools has a use for either."""
    parts, required = schema.get("properties", {}), schema.get("required", ())
    present = {
        name: without_empty_parts(parts.get(name, {}), value) for name, value in values.items()
    }
    return {
        name: value
        for name, value in present.items()
        if value is not None and (value != "" or name in required)
    }


def without_empty_parts(schema: JsonObject, value: object) -> object:
    """The value; if the schema wants an object, and it is or spells one, its
    `without_empty_values`."""
    if schema.get("type") != "object":
        return value
    try:
        parsed = from_json(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return without_empty_values(schema, parsed) if isinstance(parsed, dict) else value


def parse_id(value: object) -> UUID | None:
    """The UUID that the value spells, or None."""
    try:
        return UUID(str(value))
    except ValueError:
        return None


def text_content(data: JsonObject) -> JsonObject:
    """The JSON as text, for assistants that ignore `structuredContent`."""
    return {"type": "text", "text": JSONRenderer().render(data).decode()}


def error_result(error: JsonObject, *texts: str) -> JsonObject:
    """The result of a failed tool call: the body of the REST call's error, and advice."""
    advice = [{"type": "text", "text": text} for text in texts]
    return {"content": [text_content(error), *advice], "isError": True}
