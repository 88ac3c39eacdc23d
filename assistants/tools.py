"""The tools: calls of the REST API under names and descriptions that an assistant can act on.

A tool is one of the API's operations, and has no rule of its own. Who may use it is what the view's
`permission_classes` say, its schemas are those of the OpenAPI document, and a call of it is a call
of the view's method, with the arguments where an HTTP request would have them.
"""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, QueryDict
from django.urls import resolve
from mcp_types.jsonrpc import INVALID_PARAMS
from rest_framework.exceptions import APIException, NotFound
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from assistants.models import Grant
from assistants.protocol import LIST_SECONDS, Handler, Message, Refused
from audit import origin

JSON = dict[str, Any]
ANY_ID = "00000000-0000-0000-0000-000000000000"
TYPES = {"string": str, "integer": int, "boolean": bool}


@functools.cache
def document() -> JSON:
    """The OpenAPI document that `GET /schema` answers."""
    response = resolve("/schema").func.view_class().get(None)  # type: ignore[attr-defined]
    return dict(json.loads(response.content))


def inlined(schema: Any) -> Any:
    """The schema with what its `$ref`s name in their places, as it has to stand by itself."""
    if isinstance(schema, list):
        return [inlined(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        found = document()
        for name in schema["$ref"].split("/")[1:]:
            found = found[name]
        return inlined(found)
    return {name: inlined(part) for name, part in schema.items() if name != "example"}


@dataclass(frozen=True)
class Tool:
    """One of the API's operations as a tool. `about` describes arguments, by their names."""

    name: str
    title: str
    operation: str  # "PATCH /users/{user_id}", as the document has it
    description: str
    about: Mapping[str, str] = field(default_factory=dict)
    without: frozenset[str] = frozenset()  # what front-ends may say, and assistants need not
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    @property
    def method(self) -> str:
        return self.operation.split()[0].lower()

    @property
    def path(self) -> str:
        return self.operation.split()[1]

    @functools.cached_property
    def view(self) -> type[APIView]:
        path = "/".join(ANY_ID if part[:1] == "{" else part for part in self.path.split("/"))
        found: type[APIView] = resolve(path).func.view_class  # type: ignore[attr-defined]
        return found

    @functools.cached_property
    def described(self) -> JSON:
        """The operation in the OpenAPI document."""
        described: JSON = document()["paths"][self.path][self.method]
        return described

    @functools.cached_property
    def parameters(self) -> dict[str, JSON]:
        """The arguments that go into the path and the query, by name."""
        listed = inlined(self.described.get("parameters", []))
        listed = [item for item in listed if item["name"] not in self.without]
        return {item["name"]: item for item in listed if item["in"] in {"path", "query"}}

    @functools.cached_property
    def body(self) -> JSON:
        """The schema of the request's body; without properties where there is none."""
        content = self.described.get("requestBody", {}).get("content", {})
        found: JSON = inlined(content.get("application/json", {}).get("schema", {}))
        found = found.get("oneOf", [found])[0]  # of one thing, where the call takes several, too
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
        said = self.about.get(name) or self.parameters.get(name, {}).get("description")
        return schema | ({"description": said} if said else {})

    @functools.cached_property
    def output_schema(self) -> JSON:
        """JSON Schema of the success answer's body; of `{}` where it has none."""
        answers = self.described["responses"]
        content = answers[max(status for status in answers if status.startswith("2"))]
        nothing = {"type": "object", "properties": {}, "additionalProperties": False}
        schema = content.get("content", {}).get("application/json", {}).get("schema", nothing)
        found: JSON = inlined(schema)
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
                "idempotentHint": self.idempotent,
                "openWorldHint": False,
            },
        }

    def is_for(self, request: Request) -> bool:
        """Whether the caller may use it, as the view's permissions have it."""
        view = self.view()
        return all(allows.has_permission(request, view) for allows in view.get_permissions())

    def problems(self, arguments: JSON) -> dict[str, list[str]]:
        """What is wrong with the arguments before the REST call can see it; it checks the rest."""
        known = self.input_schema["properties"]
        found = {name: ["There is no such argument."] for name in arguments.keys() - known.keys()}
        for name, item in self.parameters.items():
            kind = item["schema"]["type"]
            if name in arguments and type(arguments[name]) is not TYPES[kind]:
                found[name] = [f"Must be of type {kind}."]
            elif item.get("required") and name not in arguments:
                found[name] = ["This field is required."]
        return found

    def call(self, request: Request, arguments: JSON) -> JSON:
        """The result of a call: the REST call's body, or what it refuses, as an error that the
        assistant can read."""
        problems = self.problems(arguments)
        if problems:
            return failure({"error": "invalid request", "fields": problems})
        made = ToolRequest(request, self.query(arguments), self.content(arguments))
        view = self.view()
        view.setup(made)
        view.format_kwarg = None  # which DRF sets before it calls the method
        try:
            view.kwargs = self.ids(arguments)
            answer = getattr(view, self.method)(made, **view.kwargs).data
        except (APIException, Http404, PermissionDenied) as refusal:
            return failure(view.handle_exception(refusal).data)
        answer = answer or {}
        return {"content": as_text(answer), "structuredContent": answer, "isError": False}

    def ids(self, arguments: JSON) -> dict[str, UUID]:
        """The arguments that stand in the path."""
        inside = [name for name, item in self.parameters.items() if item["in"] == "path"]
        return {name: as_id(arguments[name]) for name in inside}

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


class ToolRequest(Request):
    """What a REST view's method gets in a tool's call: the caller, a query and a body."""

    def __init__(self, request: Request, query: QueryDict, content: JSON) -> None:
        plain = HttpRequest()
        plain.META = request.META
        super().__init__(plain)
        self.user, self.auth = request.user, request.auth
        self.query, self.content = query, content

    @property
    def query_params(self) -> QueryDict:  # type: ignore[override]
        return self.query

    @property
    def data(self) -> JSON:
        return self.content


def as_id(value: str) -> UUID:
    """The id in a path; one that is none belongs to nothing."""
    try:
        return UUID(value)
    except ValueError:
        raise NotFound from None


def as_text(data: Any) -> list[JSON]:
    """JSON as the API's renderer writes it, for those who read text."""
    return [{"type": "text", "text": JSONRenderer().render(data).decode()}]


def failure(error: JSON) -> JSON:
    return {"content": as_text(error), "isError": True}


def handlers(request: Request) -> dict[str, Handler]:
    """The methods of the protocol that are about tools, for whoever makes this request."""
    return {
        "tools/list": functools.partial(list_tools, request),
        "tools/call": functools.partial(call_tool, request),
    }


def list_tools(request: Request, message: Message) -> JSON:
    """tools/list: those that the caller's role may use, always in the same order."""
    mine = [tool.definition() for tool in TOOLS.values() if tool.is_for(request)]
    return {"tools": mine, "ttlMs": LIST_SECONDS * 1000, "cacheScope": "private"}


def call_tool(request: Request, message: Message) -> JSON:
    """tools/call. What it records in the audit trail says through what and whom it came."""
    tool = TOOLS.get(message.params["name"])
    if tool is None or not tool.is_for(request):
        raise Refused(INVALID_PARAMS, "Unknown tool")
    arguments = message.params.get("arguments") or {}
    if tool.read_only:  # nothing is recorded
        return tool.call(request, arguments)
    reset = origin.current.set(acting_client(request, message))
    try:
        return tool.call(request, arguments)
    finally:
        origin.current.reset(reset)


def acting_client(request: Request, message: Message) -> origin.Origin:
    """What acts for the person: the client that was let in, or any other. Either names itself."""
    grant: Any = request.auth
    through, name = {"via": "mcp"}, message.client
    if isinstance(grant, Grant):
        through, name = through | {"grant": str(grant.pk)}, grant.client.name
    return replace(origin.current.get(), through=through, claims={"client": name})


PAGE_ARGUMENTS = {
    "page": "Which page, from 1.",
    "per_page": "How many on a page: 20 unless you say otherwise, at most 100.",
}
USER_ID = {"user_id": "The user's id, as list_users gives it."}
INVITATION_ID = {"invitation_id": "The invitation's id, as list_invitations gives it."}
ROLE = "admin may manage people and invitations, member may not."

TOOLS = {
    tool.name: tool
    for tool in [
        Tool(
            "whoami",
            "Who am I?",
            "GET /auth/me",
            "The person you act for: name, e-mail address, role, company and language.",
            read_only=True,
            idempotent=True,
        ),
        Tool(
            "update_profile",
            "Change my name or language",
            "PATCH /auth/me",
            "Changes the first name, last name or language of the person you act for. Give only "
            "what is to change. Answers with the profile as it is then.",
            about={"language": "The language of mails to this person."},
            idempotent=True,
        ),
        Tool(
            "list_users",
            "List the company's users",
            "GET /users",
            "The users of the company, by last and first name, a page at a time; total says how "
            "many there are. People who have not accepted an invitation are no users yet: see "
            "list_invitations.",
            about=PAGE_ARGUMENTS
            | {
                "search": "Words to look for in names and e-mail addresses.",
                "role": "Only users with this role.",
                "is_active": "Only active users (true), or only deactivated ones (false).",
            },
            without=frozenset({"sort"}),
            read_only=True,
            idempotent=True,
        ),
        Tool(
            "get_user",
            "Look up a user",
            "GET /users/{user_id}",
            "One user of the company, by id.",
            about=USER_ID,
            read_only=True,
            idempotent=True,
        ),
        Tool(
            "update_user",
            "Change a user's role, or deactivate a user",
            "PATCH /users/{user_id}",
            "Changes the role of a user of the company, or deactivates or reactivates the user. A "
            "deactivated user is signed out everywhere at once and cannot sign in. The company's "
            "last active admin can be neither demoted nor deactivated. Ask the person before.",
            about=USER_ID | {"role": ROLE, "is_active": "false deactivates, true reactivates."},
            destructive=True,
            idempotent=True,
        ),
        Tool(
            "list_invitations",
            "List the company's invitations",
            "GET /invitations",
            "The invitations into the company, newest first, a page at a time. To see who has not "
            "accepted yet, ask for the status pending, and for expired ones, which can be sent "
            "again.",
            about=PAGE_ARGUMENTS | {"status": "Only invitations in this state."},
            without=frozenset({"role", "search", "sort"}),
            read_only=True,
            idempotent=True,
        ),
        Tool(
            "invite_user",
            "Invite somebody into the company",
            "POST /invitations",
            "Mails an invitation to an e-mail address. Fails if the address is a member already, "
            "or has an open invitation: send that one again with resend_invitation.",
            about={
                "email": "Whom to invite.",
                "role": f"The role that the person will have, member unless you say so. {ROLE}",
                "consultant_id": "A consultant profile of the company to link the person to.",
            },
            without=frozenset({"language"}),
        ),
        Tool(
            "resend_invitation",
            "Send an invitation again",
            "POST /invitations/{invitation_id}/resend",
            "Mails an open or expired invitation again, with a new link and a new time to accept; "
            "the link of the older mail stops working.",
            about=INVITATION_ID,
        ),
        Tool(
            "revoke_invitation",
            "Revoke an invitation",
            "DELETE /invitations/{invitation_id}",
            "Takes an invitation back that was not accepted yet: its link stops working. This "
            "cannot be undone, but the person can be invited anew. Ask the person before.",
            about=INVITATION_ID,
            destructive=True,
        ),
    ]
}
