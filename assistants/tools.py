"""TOOLS, the calls of the REST API that assistants can make, and the methods tools/list and
tools/call."""

from dataclasses import replace

from mcp_types.jsonrpc import INVALID_PARAMS

from accounts.events import EventsView
from accounts.views import MeView, SignOutView, UsersView
from api.openapi import JsonObject
from api.views import CountedRequest
from assistants.models import Grant
from assistants.protocol import TOOL_LIST_SECONDS, MCPMessage, ProtocolError
from assistants.rest_tool import RestTool
from base.caller import Caller, current_caller
from invitations.views import InvitationsView, InvitationView, ResendInvitationView
from passwords.views import SendPasswordLinkView
from signin.views import UserView


def list_tools(request: CountedRequest, message: MCPMessage) -> JsonObject:
    """The result of tools/list: the tools that the caller's role may use, on one page. Raises
    ProtocolError for a cursor."""
    if message.params.get("cursor") is not None:
        raise ProtocolError(INVALID_PARAMS, "Invalid cursor")
    entries = [tool.list_entry() for tool in TOOLS.values() if tool.is_allowed_for(request)]
    return {"tools": entries, "ttlMs": TOOL_LIST_SECONDS * 1000, "cacheScope": "private"}


def call_tool(request: CountedRequest, message: MCPMessage) -> JsonObject:
    """The result of tools/call, also if the tool fails. Audit events of the call name the app.
    Raises ProtocolError for a tool that the caller may not use."""
    tool = TOOLS.get(message.params["name"])
    if tool is None or not tool.is_allowed_for(request):
        raise ProtocolError(INVALID_PARAMS, "Unknown tool")
    arguments = message.params.get("arguments") or {}
    if tool.read_only:  # it records no event
        return tool.call(request, arguments)
    token = current_caller.set(caller_with_app(request, message))
    try:
        return tool.call(request, arguments)
    finally:
        current_caller.reset(token)


def caller_with_app(request: CountedRequest, message: MCPMessage) -> Caller:
    """A copy of the current caller that names, for audit events, the app that acts for the user: a
    connected app, by its grant and its claimed name, or a client with an access token of the API,
    by the name that it claims in the message."""
    grant = request.auth
    through, client_name = {"via": "mcp"}, message.claimed_client
    if isinstance(grant, Grant):
        through, client_name = through | {"grant": str(grant.pk)}, grant.client.name
    return replace(current_caller.get(), through=through, claims={"client": client_name})


PAGE_ARGUMENTS = {"per_page": "20 by default, at most 100."}
ASK_FIRST = "Ask your user first."
ISO_8601 = "ISO 8601."

TOOLS = {
    tool.name: tool
    for tool in [
        RestTool("whoami", "Who am I?", MeView, "GET /auth/me", "The user you act for."),
        RestTool(
            "update_profile",
            "Change my name or language",
            MeView,
            "PATCH /auth/me",
            "Changes the profile of the user you act for. Send only what changes.",
            argument_help={"settings": "The language of mails to this user."},
        ),
        RestTool(
            "list_users",
            "List the company's users",
            UsersView,
            "GET /users",
            "Sorted by last and first name; total counts all pages. People who haven't accepted "
            "their invitation are in list_invitations.",
            argument_help=PAGE_ARGUMENTS
            | {
                "search": "Words in names and e-mail addresses.",
                "not_signed_in_since": "Users who haven't signed in since then, or ever. "
                + ISO_8601,
            },
            hidden_arguments=frozenset({"signed_in", "sort"}),
        ),
        RestTool(
            "get_user",
            "Look up a user",
            UserView,
            "GET /users/{user_id}",
            "One user of the company.",
            argument_help={"user_id": "From list_users."},
        ),
        RestTool(
            "update_user",
            "Change a user's role, or deactivate a user",
            UserView,
            "PATCH /users/{user_id}",
            "Admins manage users and invitations; members don't. A deactivated user is signed "
            f"out at once and can't sign in. A company keeps its last active admin. {ASK_FIRST}",
            argument_help={"is_active": "false deactivates, true reactivates."},
            hidden_arguments=frozenset({"keeps_password", "password", "proof", "code", "passkey"}),
            destructive=True,
        ),
        RestTool(
            "list_invitations",
            "List the company's invitations",
            InvitationsView,
            "GET /invitations",
            "Newest first. Pending and expired ones can be sent again.",
            argument_help=PAGE_ARGUMENTS,
            hidden_arguments=frozenset({"role", "search", "sort"}),
        ),
        RestTool(
            "invite_user",
            "Invite a user into the company",
            InvitationsView,
            "POST /invitations",
            f"Mails an invitation. If one is already open, use resend_invitation. {ASK_FIRST}",
            argument_help={
                "role": "member by default.",
                "consultant_id": "A consultant profile to link.",
            },
            open_world=True,
            hidden_arguments=frozenset({"language"}),
        ),
        RestTool(
            "resend_invitation",
            "Send an invitation again",
            ResendInvitationView,
            "POST /invitations/{invitation_id}/resend",
            "Mails an open or expired invitation again, with a new link. The old one stops "
            f"working. {ASK_FIRST}",
            open_world=True,
        ),
        RestTool(
            "revoke_invitation",
            "Revoke an invitation",
            InvitationView,
            "DELETE /invitations/{invitation_id}",
            f"The link of an open or expired invitation stops working for good. {ASK_FIRST}",
            destructive=True,
        ),
        RestTool(
            "sign_out_user",
            "Sign a user out",
            SignOutView,
            "POST /users/{user_id}/sign-out",
            "Ends all sessions and connected apps of a user, such as after a lost device. The "
            f"user can sign in again. {ASK_FIRST}",
            destructive=True,
        ),
        RestTool(
            "send_password_mail",
            "Mail a user a link to a new password",
            SendPasswordLinkView,
            "POST /users/{user_id}/password-change",
            f"Mails a password reset link. Mails over the hourly limit are dropped. {ASK_FIRST}",
        ),
        RestTool(
            "list_events",
            "List what has happened in the company",
            EventsView,
            "GET /audit",
            "The audit log, newest first: sign-ins, invitations, changes, assistants.",
            argument_help=PAGE_ARGUMENTS
            | {
                "user_id": "Events by or about this user.",
                "kind": "Such as user.role; the error for an unknown kind lists all.",
                "since": ISO_8601,
                "until": ISO_8601,
            },
            hidden_arguments=frozenset({"group"}),
        ),
    ]
}
