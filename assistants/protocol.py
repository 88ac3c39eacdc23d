"""The Model Context Protocol over HTTP, without sessions and streams: one message, one answer.

From revision 2026-07-28 on, each request names its revision and client in `_meta`, and repeats some
of its content in headers for proxies; headers and body must agree. Earlier revisions begin with
`initialize`, of which nothing is kept, since no later call needs it.

Messages are validated and serialised with `mcp_types`, the official models. Loading them takes a
third of a second and 23 MB, so `assistants.views` imports this module with the first message.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mcp_types import (
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    methods,
)
from mcp_types.jsonrpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    JSONRPCNotification,
    JSONRPCRequest,
)
from pydantic import ValidationError
from pydantic_core import from_json

from api.openapi import JSON

MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26"]
SUPPORTED = [MODERN, *LEGACY]
UNNAMED = LEGACY[-1]  # the last revision whose clients sent no version header
SERVER_INFO = {"name": "consulting-management", "title": "Consulting management", "version": "1"}
LIST_SECONDS = 60  # how long a client may keep a list of tools: roles change

Answer = tuple[int, JSON | None]
Handler = Callable[["Message"], JSON]


class Refused(Exception):
    """The message is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({"data": data} if data else {})
        self.status = 404 if code == METHOD_NOT_FOUND else 400


@dataclass
class Message:
    """A request or notification, and its protocol revision."""

    method: str
    id: str | int | None = None
    params: JSON = field(default_factory=dict)
    version: str = MODERN

    @property
    def meta(self) -> JSON:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def claimed_client(self) -> str:
        """The name that the client claims, or ""."""
        info = self.meta.get(CLIENT_INFO_META_KEY)
        name = info.get("name") if isinstance(info, dict) else ""
        return name if isinstance(name, str) else ""


def answer_message(body: bytes, headers: Mapping[str, str], handlers: dict[str, Handler]) -> Answer:
    """The HTTP status and body that answer a message; no body for a notification.

    `handlers` return the results of the served methods, without the members that all results have.
    """
    message = None
    try:
        message = parse_message(body)
        message.version = revision_of(message, headers)
        if message.id is None:
            return 202, None
        return 200, {"jsonrpc": "2.0", "id": message.id, "result": result_of(message, handlers)}
    except Refused as refusal:
        status = refusal.status
        if message is not None and message.version in LEGACY and message.id is not None:
            status = 200  # earlier clients treat any other as a failed transport
        refused: JSON = {"jsonrpc": "2.0", "error": refusal.error}
        if message is not None and message.id is not None:
            refused["id"] = message.id
        elif headers.get("MCP-Protocol-Version") != MODERN:
            refused["id"] = None  # earlier clients expect one
        return status, refused


def parse_message(body: bytes) -> Message:
    """The JSON-RPC request or notification in the body. Raises Refused."""
    try:
        content = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise Refused(PARSE_ERROR, "Parse error: the body is not JSON") from None
    shape = JSONRPCRequest if isinstance(content, dict) and "id" in content else JSONRPCNotification
    try:
        message = shape.model_validate(content)
    except ValidationError:
        problem = "The body must be a single JSON-RPC request or notification"
        raise Refused(INVALID_REQUEST, problem) from None
    return Message(message.method, getattr(message, "id", None), message.params or {})


def revision_of(message: Message, headers: Mapping[str, str]) -> str:
    """The message's protocol revision. Raises Refused if headers and body disagree."""
    named = headers.get("MCP-Protocol-Version")
    declared = message.meta.get(PROTOCOL_VERSION_META_KEY)
    if declared is not None or named == MODERN:
        if message.id is not None:
            check_headers(message, headers)
    elif named is None or message.method == "initialize":
        named = UNNAMED
    if named not in SUPPORTED:
        data = {"supported": SUPPORTED, "requested": named}
        raise Refused(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)
    return named


def check_headers(message: Message, headers: Mapping[str, str]) -> None:
    """Raise Refused if headers are missing or differ from the body.

    Proxies read the headers and we read the body, so both must describe the same request.
    """
    expected = {"MCP-Protocol-Version": message.meta.get(PROTOCOL_VERSION_META_KEY)}
    expected["Mcp-Method"] = message.method
    if expected["MCP-Protocol-Version"] is None:
        problem = f"params._meta must hold {PROTOCOL_VERSION_META_KEY}"
        raise Refused(INVALID_PARAMS, problem)
    if message.method == "tools/call" and "name" in message.params:
        expected["Mcp-Name"] = message.params["name"]
    for name, value in expected.items():
        given = headers.get(name)
        if (header_text(given) if name == "Mcp-Name" else given) != value:
            raise Refused(HEADER_MISMATCH, f"The header {name} is missing or differs from the body")


def header_text(value: str | None) -> str | None:
    """A header's value, decoded if it is `=?base64?…?=` (UTF-8); None if that is invalid."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except ValueError:
        return None


def result_of(message: Message, handlers: dict[str, Handler]) -> JSON:
    """The result of a request, in the form of its revision."""
    method, version = message.method, message.version
    handler = (BUILT_IN | handlers).get(method)
    if handler is None or (method, version) not in methods.CLIENT_REQUESTS:
        raise Refused(METHOD_NOT_FOUND, "Method not found")
    try:
        methods.validate_client_request(method, version, message.params or None)
    except ValidationError as problem:
        raise Refused(INVALID_PARAMS, f"Invalid params: {first_of(problem)}") from None
    made = handler(message)
    if version == MODERN:
        made |= {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: SERVER_INFO}}
    # The models of earlier revisions leave out what those do not know.
    return methods.serialize_server_result(method, version, made)


def first_of(problem: ValidationError) -> str:
    """The first problem: it names fields, but never repeats their values."""
    detail = problem.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"[:200]


INSTRUCTIONS = (
    "Acts for the signed-in user in their company's account. Members can view and change their own "
    "profile. Admins can also manage the company's users and invitations, and read the audit log. "
    "Get ids from list_users and list_invitations. Ask the user before you change, sign out, mail "
    "or invite anyone else."
)
CAPABILITIES: JSON = {"tools": {}}


def discover(message: Message) -> JSON:
    """server/discover: revisions, capabilities and instructions."""
    return {
        "supportedVersions": SUPPORTED,
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
        "ttlMs": LIST_SECONDS * 1000,
        "cacheScope": "public",
    }


def initialize(message: Message) -> JSON:
    """initialize: the requested revision if it is one of LEGACY, else the newest of those."""
    asked = message.params["protocolVersion"]
    return {
        "protocolVersion": asked if asked in LEGACY else LEGACY[0],
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER_INFO,
        "instructions": INSTRUCTIONS,
    }


BUILT_IN: dict[str, Handler] = {
    "server/discover": discover,
    "initialize": initialize,
    "ping": lambda message: {},
}
