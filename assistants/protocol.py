"""The Model Context Protocol (MCP) over HTTP, without sessions and streams.

From revision 2026-07-28 on, each request names its revision and client in `_meta`, and repeats some
of its content in headers for proxies. Clients of earlier revisions begin with `initialize`. Nothing
of that message is stored, since no later one needs it.

`mcp_types` are the official models. Loading them takes a third of a second and 23 MB, so
`assistants.views` imports this module with the first message.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.http.request import HttpHeaders
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

from api.openapi import JsonObject

CURRENT_REVISION = "2026-07-28"
EARLIER_REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26"]
SUPPORTED_REVISIONS = [CURRENT_REVISION, *EARLIER_REVISIONS]
HEADERLESS_REVISION = EARLIER_REVISIONS[-1]  # of requests without a version header
SERVER_INFO = {"name": "consulting-management", "title": "Consulting management", "version": "1"}
TOOL_LIST_SECONDS = 60  # that a client may keep a list of tools, as roles change

HTTPAnswer = tuple[int, JsonObject | None]  # status and body
Handler = Callable[["MCPMessage"], JsonObject]


class ProtocolError(Exception):
    """The message is refused, with `status` and the JSON-RPC error `error`."""

    def __init__(self, code: int, message: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({"data": data} if data else {})
        self.status = 404 if code == METHOD_NOT_FOUND else 400


@dataclass
class MCPMessage:
    """A JSON-RPC request, or a notification if `id` is None, and its protocol revision."""

    method: str
    id: str | int | None = None
    params: JsonObject = field(default_factory=dict)
    revision: str = CURRENT_REVISION

    @property
    def meta(self) -> JsonObject:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def claimed_client(self) -> str:
        """The client's name, which is its own claim, or ""."""
        info = self.meta.get(CLIENT_INFO_META_KEY)
        name = info.get("name") if isinstance(info, dict) else ""
        return name if isinstance(name, str) else ""


def answer_message(body: bytes, headers: HttpHeaders, handlers: dict[str, Handler]) -> HTTPAnswer:
    """The HTTP status and body that answer a message; the body for an accepted notification is
    None.

    `handlers` are the served methods besides BUILT_IN, by name. They are called with the message,
    and return a result without the members that all results have. What they raise is passed on, but
    for ProtocolError, which becomes the answer.
    """
    message = MCPMessage("")  # until the body is parsed
    try:
        message = parse_message(body)
        message.revision = read_revision(message, headers)
        if message.id is None:
            return 202, None
        return 200, {"jsonrpc": "2.0", "id": message.id, "result": run_handler(message, handlers)}
    except ProtocolError as error:
        # Earlier clients treat any other status than 200 as a failed transport.
        is_earlier = message.revision in EARLIER_REVISIONS and message.id is not None
        answer = {"jsonrpc": "2.0", "id": message.id, "error": error.error}
        return 200 if is_earlier else error.status, answer


def parse_message(body: bytes) -> MCPMessage:
    """The JSON-RPC request or notification in the body, with CURRENT_REVISION until its own is
    read. Raises ProtocolError for a body that is no JSON, or none of these messages."""
    try:
        content = from_json(body, allow_inf_nan=False)
    except ValueError:
        raise ProtocolError(PARSE_ERROR, "Parse error: the body is not JSON") from None
    model = JSONRPCRequest if isinstance(content, dict) and "id" in content else JSONRPCNotification
    try:
        message = model.model_validate(content)
    except ValidationError:
        reason = "The body must be a single JSON-RPC request or notification"
        raise ProtocolError(INVALID_REQUEST, reason) from None
    return MCPMessage(message.method, getattr(message, "id", None), message.params or {})


def read_revision(message: MCPMessage, headers: HttpHeaders) -> str:
    """The message's protocol revision: that of the header MCP-Protocol-Version; HEADERLESS_REVISION
    if neither the header nor `_meta` names one, and for `initialize` by a client of an earlier
    revision. Raises ProtocolError for an unsupported revision, also if `_meta` alone names one, and
    if `check_headers` refuses a request of the current revision or with one in `_meta`."""
    revision = headers.get("MCP-Protocol-Version")
    meta_revision = message.meta.get(PROTOCOL_VERSION_META_KEY)
    if meta_revision is not None or revision == CURRENT_REVISION:
        if message.id is not None:
            check_headers(message, headers)
    elif revision is None or message.method == "initialize":
        revision = HEADERLESS_REVISION
    if revision not in SUPPORTED_REVISIONS:
        data = {"supported": SUPPORTED_REVISIONS, "requested": revision}
        raise ProtocolError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)
    return revision


def check_headers(message: MCPMessage, headers: HttpHeaders) -> None:
    """Raise ProtocolError if the `_meta` of a request lacks the revision, or if headers are missing
    or differ from the body: proxies read the headers, and this service the body."""
    expected_headers = {"MCP-Protocol-Version": message.meta.get(PROTOCOL_VERSION_META_KEY)}
    expected_headers["Mcp-Method"] = message.method
    if expected_headers["MCP-Protocol-Version"] is None:
        reason = f"params._meta must hold {PROTOCOL_VERSION_META_KEY}"
        raise ProtocolError(INVALID_PARAMS, reason)
    if message.method == "tools/call" and "name" in message.params:
        expected_headers["Mcp-Name"] = message.params["name"]
    for name, value in expected_headers.items():
        if decode_header(headers.get(name)) != value:
            reason = f"The header {name} is missing or differs from the body"
            raise ProtocolError(HEADER_MISMATCH, reason)


def decode_header(value: str | None) -> str | None:
    """A header's value, decoded from `=?base64?…?=` (UTF-8): clients encode names that are no plain
    ASCII, and servers decode them before they compare. None for an invalid encoding, and if `value`
    is None, as for a missing header."""
    if value is None or not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except ValueError:
        return None


def run_handler(message: MCPMessage, handlers: dict[str, Handler]) -> JsonObject:
    """The result of a request, as its revision defines it. Raises ProtocolError for a method that
    is not served in the revision and for invalid parameters, and what the handler raises."""
    method, revision = message.method, message.revision
    handler = (BUILT_IN | handlers).get(method)
    if handler is None or (method, revision) not in methods.CLIENT_REQUESTS:
        raise ProtocolError(METHOD_NOT_FOUND, "Method not found")
    try:
        methods.validate_client_request(method, revision, message.params or None)
    except ValidationError as error:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: {first_error_text(error)}") from None
    result = handler(message)
    if revision == CURRENT_REVISION:
        result |= {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: SERVER_INFO}}
    # The models of earlier revisions leave out members that those don't have.
    return methods.serialize_server_result(method, revision, result)


def first_error_text(error: ValidationError) -> str:
    """The place and text of the first error, without values that were sent."""
    detail = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"[:200]


INSTRUCTIONS = (
    "Acts for the signed-in user in their company's account. Members can view and change their own "
    "profile. Admins can also manage the company's users and invitations, and read the audit log. "
    "Get ids from list_users and list_invitations. Ask the user before you change, sign out, mail "
    "or invite anyone else."
)
CAPABILITIES: JsonObject = {"tools": {}}


def discover(message: MCPMessage) -> JsonObject:
    """The result of server/discover: what the server supports, the same for every client."""
    return {
        "supportedVersions": SUPPORTED_REVISIONS,
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
        "ttlMs": TOOL_LIST_SECONDS * 1000,
        "cacheScope": "public",
    }


def initialize(message: MCPMessage) -> JsonObject:
    """The result of `initialize`, with which a client of an earlier revision begins: the revision
    that it names in its validated parameters, or the latest of EARLIER_REVISIONS for any other."""
    revision = message.params["protocolVersion"]
    return {
        "protocolVersion": revision if revision in EARLIER_REVISIONS else EARLIER_REVISIONS[0],
        "capabilities": CAPABILITIES,
        "serverInfo": SERVER_INFO,
        "instructions": INSTRUCTIONS,
    }


BUILT_IN: dict[str, Handler] = {
    "server/discover": discover,
    "initialize": initialize,
    "ping": lambda message: {},
}
