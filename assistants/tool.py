"""One of the REST API's calls as a tool: its schemas, and how it is called.

A tool has no rule of its own. Who may use it is what the view's `permission_classes` say, its
schemas are cut from the OpenAPI description of the view, and a call of it is a call of the view's
method, with the arguments where an HTTP request would have them.
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
from rest_framework.exceptions import APIException, ValidationError
from rest_framework.renderers import JSONRenderer
from rest_framework.views import APIView

from accounts.urls import urlpatterns as accounts
from invitations.urls import urlpatterns as invitations
from passwords.urls import urlpatterns as passwords
from throttling.openapi import JSON
from throttling.views import CountedRequest

TYPES = {"string": str, "integer": int, "boolean": bool}
OF_ANSWERS = {"type", "properties", "items"}
OF_ARGUMENTS = OF_ANSWERS | {"enum", "required"}


@functools.cache
def document() -> JSON:
    """The OpenAPI description of the calls that tools may be."""
    generator = SchemaGenerator(patterns=[*accounts, *invitations, *passwords])
    found: JSON = generator.get_schema(request=None, public=True)
    return found


def inlined(schema: JSON, kept: set[str] = OF_ARGUMENTS) -> JSON:
    """The schema with what its `$ref`s name in their places, as it has to stand by itself; and no
    more of it than an assistant needs to know, since its words are what people pay by."""
    if "$ref" in schema:
        found = document()
        for name in schema["$ref"].split("/")[1:]:
            found = found[name]
        return inlined(found, kept)
    if "oneOf" in schema:
        return inlined(schema["oneOf"][0], kept)  # of one, where a call takes several, too
    cut = {name: part for name, part in schema.items() if name in kept}
    if "properties" in cut:
        cut["properties"] = {name: inlined(part, kept) for name, part in cut["properties"].items()}
    return cut | ({"items": inlined(cut["items"], kept)} if "items" in cut else {})


@dataclass(frozen=True)
class Tool:
    """One of the API's operations as a tool. `about` describes arguments, by their names; `like`
    says in words what the object of its answer is, where another tool's schema spells it out."""

    name: str
    title: str
    view: type[APIView]
    operation: str  # "PATCH /users/{user_id}", as the document has it
    description: str
    about: Mapping[str, str] = field(default_factory=dict)
    without: frozenset[str] = frozenset()  # what front-ends may say, and assistants need not
    like: str = ""
    ids_from: str = ""  # the tool that lists what it is about
    destructive: bool = False
    open_world: bool = False

    @property
    def method(self) -> str:
        return self.operation.split()[0].lower()

    @property
    def read_only(self) -> bool:
        return self.method == "get"

    @functools.cached_property
    def described(self) -> JSON:
        """The operation in the OpenAPI document."""
        described: JSON = document()["paths"][self.operation.split()[1]][self.method]
        return described

    @functools.cached_property
    def parameters(self) -> dict[str, JSON]:
        """The arguments that go into the path and the query, by name."""
        listed = self.described.get("parameters", [])
        wanted = [item for item in listed if item["in"] in {"path", "query"}]
        wanted = [item for item in wanted if item["name"] not in self.without]
        return {item["name"]: item | {"schema": inlined(item["schema"])} for item in wanted}

    @functools.cached_property
    def body(self) -> JSON:
        """The schema of the request's body; without properties where there is none."""
        content = self.described.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema", {})
        found = inlined(schema)
        known = found.get("properties", {}).items()
        kept = {name: part for name, part in known if name not in self.without}
        return found | {"properties": kept}

    @functools.cached_property
    def nested(self) -> dict[str, str]:
        """The arguments that stand in an object within the body, and that object's name."""
        objects = self.body.get("properties", {}).items()
        return {name: outer for outer, part in objects for name in part.get("properties", {})}

    @functools.cached_property
    def input_schema(self) -> JSON:
        """JSON Schema of all arguments side by side, wherever the REST call has them."""
        properties = {name: item["schema"] for name, item in self.parameters.items()}
        for name, part in self.body.get("properties", {}).items():
            properties |= part.get("properties") or {name: part}
        needed = [name for name, item in self.parameters.items() if item.get("required")]
        schema: JSON = {
            "type": "object",
            "properties": {name: self.explained(name, part) for name, part in properties.items()},
            "additionalProperties": False,
        }
        needed += self.body.get("required", [])
        return schema | ({"required": needed} if needed else {})

    def explained(self, name: str, schema: JSON) -> JSON:
        said = self.about.get(name)
        return schema | ({"description": said} if said else {})

    @functools.cached_property
    def output_schema(self) -> JSON:
        """JSON Schema of the success answer's body; of `{}` where it has none."""
        answers = self.described["responses"]
        content = answers[max(status for status in answers if status.startswith("2"))]
        nothing = {"type": "object", "properties": {}}
        schema = content.get("content", {}).get("application/json", {}).get("schema", nothing)
        found = inlined(schema, OF_ANSWERS)
        if self.like:
            alike = {"type": "object", "description": self.like}
            if "items" not in found["properties"]:
                return alike
            found["properties"]["items"]["items"] = alike
        return found

    def definition(self) -> JSON:
        """What tools/list says of it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": {
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": self.method in {"get", "patch"},
                "openWorldHint": self.open_world,
            },
        }

    def is_for(self, request: CountedRequest) -> bool:
        """Whether the caller may use it, as the view's permissions have it."""
        view = self.view()
        return all(allows.has_permission(request, view) for allows in view.get_permissions())

    def problems(self, arguments: JSON) -> dict[str, list[str]]:
        """What is wrong with the arguments before the REST call can see it; it checks the rest."""
        known = self.input_schema["properties"]
        found = {name: ["There is no such argument."] for name in arguments.keys() - known.keys()}
        for name, item in self.parameters.items():
            kind = item["schema"]["type"]
            if name not in arguments:
                if item.get("required"):
                    found[name] = ["This field is required."]
            elif type(arguments[name]) is not TYPES[kind]:
                found[name] = [f"Must be of type {kind}."]
            elif item["in"] == "path" and as_id(arguments[name]) is None:
                found[name] = [f"This is no id: ids come from {self.ids_from}."]
        return found

    def call(self, request: CountedRequest, arguments: JSON) -> JSON:
        """The result of a call: the REST call's body, or what it refuses, as an error that the
        assistant can read."""
        problems = self.problems(arguments)
        if problems:
            return failure({"error": "invalid request", "fields": problems})
        made = ToolRequest(request, self.query(arguments), self.content(arguments))
        view: Any = self.view()
        view.setup(made)
        view.format_kwarg = None  # which DRF sets before it calls the method
        view.kwargs = self.ids(arguments)
        try:
            answer = getattr(view, self.method)(made, **view.kwargs).data or {}
        except (APIException, Http404, PermissionDenied) as refusal:
            return self.refused(refusal, view.handle_exception(refusal).data)
        return {"content": as_text(answer), "structuredContent": answer, "isError": False}

    def refused(self, refusal: Exception, said: JSON) -> JSON:
        """The REST call's error, by the names that the arguments have here, and the way out."""
        if isinstance(refusal, ValidationError):
            parts = {name: side_by_side(part) for name, part in said.items() if name != "error"}
            return failure(said | parts)
        way_out = [note(f"Ids come from {self.ids_from}.")] if self.ids_from else []
        return failure(said, way_out if isinstance(refusal, Http404) else [])

    def ids(self, arguments: JSON) -> dict[str, UUID]:
        """The arguments that stand in the path."""
        inside = [name for name, item in self.parameters.items() if item["in"] == "path"]
        return {name: UUID(arguments[name]) for name in inside}

    def query(self, arguments: JSON) -> QueryDict:
        query = QueryDict(mutable=True)
        for name, item in self.parameters.items():
            if item["in"] == "query" and name in arguments:
                value = arguments[name]
                query[name] = value if isinstance(value, str) else json.dumps(value)
        return query

    def content(self, arguments: JSON) -> JSON:
        """The arguments that the body has, those of an object within it in that object."""
        content: JSON = {}
        for name, value in arguments.items():
            if name in self.nested:
                content.setdefault(self.nested[name], {})[name] = value
            elif name not in self.parameters:
                content[name] = value
        return content


class ToolRequest(CountedRequest):
    """What a REST view's method gets in a tool's call: the caller, a query and a body."""

    def __init__(self, request: CountedRequest, query: QueryDict, content: JSON) -> None:
        plain = HttpRequest()
        plain.META = request.META
        super().__init__(plain)
        self.user, self.auth = request.user, request.auth
        self.rate_limit = request.rate_limit  # of the whole call
        self.query, self.content = query, content

    @property
    def query_params(self) -> QueryDict:  # type: ignore[override]
        return self.query

    @property
    def data(self) -> JSON:
        return self.content


def as_id(value: str) -> UUID | None:
    try:
        return UUID(value)
    except ValueError:
        return None


def side_by_side(fields: JSON) -> JSON:
    """The errors of fields, those of an object's by their own names, as the arguments are."""
    found: JSON = {}
    for name, problem in fields.items():
        found |= problem if isinstance(problem, dict) else {name: problem}
    return found


def note(text: str) -> JSON:
    return {"type": "text", "text": text}


def as_text(data: JSON) -> list[JSON]:
    """JSON as the API's renderer writes it, for those who read text."""
    return [note(JSONRenderer().render(data).decode())]


def failure(error: JSON, notes: list[JSON] | None = None) -> JSON:
    return {"content": as_text(error) + (notes or []), "isError": True}
