"""One of the REST API's calls as a tool: its schemas, and how it is called.

A tool has no rules of its own. The view's `permission_classes` decide who may use it, its schemas
are taken from the view's OpenAPI description, and calling it calls the view's method, with the
arguments where an HTTP request would have them.
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
from rest_framework.exceptions import APIException
from rest_framework.renderers import JSONRenderer
from rest_framework.views import APIView

from accounts.urls import urlpatterns as accounts
from api.openapi import JSON
from api.views import CountedRequest
from invitations.urls import urlpatterns as invitations
from passwords.urls import urlpatterns as passwords
from signin.urls import urlpatterns as signin

KEPT = {"type", "properties", "items", "enum", "required"}


@functools.cache
def openapi_document() -> JSON:
    """The OpenAPI description of the calls that tools are made from."""
    generator = SchemaGenerator(patterns=[*accounts, *invitations, *passwords, *signin])
    found: JSON = generator.get_schema(request=None, public=True)
    return found


def inline_refs(schema: JSON) -> JSON:
    """The schema with its `$ref`s resolved, reduced to KEPT: each word costs the user tokens."""
    if "$ref" in schema:
        found = openapi_document()
        for name in schema["$ref"].split("/")[1:]:
            found = found[name]
        return inline_refs(found)
    if "oneOf" in schema:
        return inline_refs(schema["oneOf"][0])  # of one item, where a call also takes several
    cut = {name: part for name, part in schema.items() if name in KEPT}
    if "properties" in cut:
        cut["properties"] = {name: inline_refs(part) for name, part in cut["properties"].items()}
    return cut | ({"items": inline_refs(cut["items"])} if "items" in cut else {})


@dataclass(frozen=True)
class RestTool:
    """One of the API's operations as a tool. `about` describes arguments, by name."""

    name: str
    title: str
    view: type[APIView]
    operation: str  # "PATCH /users/{user_id}", as the document has it
    description: str
    about: Mapping[str, str] = field(default_factory=dict)
    without: frozenset[str] = frozenset()  # arguments for front-ends only
    ids_from: str = ""  # the tool that lists the ids in the path
    destructive: bool = False
    open_world: bool = False

    @property
    def method(self) -> str:
        return self.operation.split()[0].lower()

    @property
    def read_only(self) -> bool:
        return self.method == "get"

    @functools.cached_property
    def operation_schema(self) -> JSON:
        described: JSON = openapi_document()["paths"][self.operation.split()[1]][self.method]
        return described

    @functools.cached_property
    def parameters(self) -> dict[str, JSON]:
        """The arguments that go into the path and the query, by name."""
        listed = self.operation_schema.get("parameters", [])
        return {item["name"]: item for item in listed if item["in"] in {"path", "query"}}

    @functools.cached_property
    def input_schema(self) -> JSON:
        """JSON Schema of the arguments: those in the path and the query, and the body's."""
        content = self.operation_schema.get("requestBody", {}).get("content", {})
        body = inline_refs(content.get("application/json", {}).get("schema", {}))
        schemas = {name: inline_refs(item["schema"]) for name, item in self.parameters.items()}
        schemas |= body.get("properties", {})
        properties = {
            name: schema | ({"description": self.about[name]} if name in self.about else {})
            for name, schema in schemas.items()
            if name not in self.without
        }
        required = [name for name, item in self.parameters.items() if item.get("required")]
        required += body.get("required", [])
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": required} if required else {})

    def list_entry(self) -> JSON:
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

    def is_for(self, request: CountedRequest) -> bool:
        """Whether the view's permissions allow the call."""
        view = self.view()
        return all(allows.has_permission(request, view) for allows in view.get_permissions())

    def call(self, request: CountedRequest, arguments: JSON) -> JSON:
        """The REST call's answer, or its error in a form that the assistant can read."""
        inside = [name for name, item in self.parameters.items() if item["in"] == "path"]
        ids = {name: as_id(arguments.get(name)) for name in inside}
        # What the REST call cannot check.
        unknown = arguments.keys() - self.input_schema["properties"].keys()
        problems = {name: ["Unknown argument."] for name in unknown}
        advice = [f"Not a valid id. Get ids from {self.ids_from}."]
        problems |= {name: advice for name, pk in ids.items() if pk is None}
        if problems:
            return error_result({"error": "invalid request", "fields": problems})
        body = {name: part for name, part in arguments.items() if name not in self.parameters}
        made = ToolRequest(request, self.query_arguments(arguments), body)
        view: Any = self.view()
        view.setup(made, **ids)
        try:
            answer = getattr(view, self.method)(made, **ids).data or {}
        except (APIException, Http404, PermissionDenied) as refusal:
            refused = view.handle_exception(refusal)
            hint = self.ids_from if refused.status_code == 404 else ""
            return error_result(refused.data, hint)
        return {"content": [text_content(answer)], "structuredContent": answer, "isError": False}

    def query_arguments(self, arguments: JSON) -> QueryDict:
        """The arguments in the query. Some assistants send null for omitted ones."""
        query = QueryDict(mutable=True)
        for name, item in self.parameters.items():
            value = arguments.get(name)
            if item["in"] == "query" and value is not None:
                query[name] = value if isinstance(value, str) else json.dumps(value)
        return query


class ToolRequest(CountedRequest):
    """The request of a REST view's method in a tool's call: caller, query and body."""

    def __init__(self, request: CountedRequest, query: QueryDict, body: JSON) -> None:
        plain = HttpRequest()
        plain.META, plain.GET = request.META, query
        vars(plain)["rate_limit"] = request.rate_limit  # of the whole call
        super().__init__(plain)
        self.user, self.auth = request.user, request.auth
        self.body_data = body

    @property
    def data(self) -> JSON:
        return self.body_data


def as_id(value: object) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None


def text_content(data: JSON) -> JSON:
    """JSON as the API's renderer writes it, for assistants that read text only."""
    return {"type": "text", "text": JSONRenderer().render(data).decode()}


def error_result(error: JSON, ids_from: str = "") -> JSON:
    hint = [{"type": "text", "text": f"Get ids from {ids_from}."}] if ids_from else []
    return {"content": [text_content(error), *hint], "isError": True}
