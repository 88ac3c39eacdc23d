"""Each tool answers what its REST call answers, and refuses what that refuses."""

import json
import uuid

import jsonschema
import pytest

from assistants import tools
from audit.models import AuditEvent, Kind
from invitations.models import Invitation
from tests.assistants.conftest import call_tool, send
from tests.mailbox import mailed
from throttling.errors import RateLimited, TooManyAttempts

pytestmark = pytest.mark.django_db

MEMBER_TOOLS = ["whoami", "update_profile"]
USER_TOOLS = ["get_user", "update_user", "sign_out_user", "send_password_mail"]
UNKNOWN_ID = str(uuid.uuid4())


def answer_of(result):
    """The answer in a successful result, which also has it as text."""
    answer = result["structuredContent"]
    assert result["isError"] is False
    assert json.loads(result["content"][0]["text"]) == answer
    return answer


def error_of(result):
    assert result["isError"] is True
    assert "structuredContent" not in result
    return json.loads(result["content"][0]["text"])


def tool_names(api):
    return [tool["name"] for tool in send(api, "tools/list").json()["result"]["tools"]]


def test_members_list_their_own_tools_only(as_bob):
    assert tool_names(as_bob) == MEMBER_TOOLS


def test_every_tool_is_fully_described(as_ada):
    for tool in send(as_ada, "tools/list").json()["result"]["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["title"]
        assert tool["description"]
        assert set(tool["annotations"]) == {
            "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"
        }  # fmt: skip


def test_arguments_of_each_tool():
    arguments = {name: set(tool.input_schema["properties"]) for name, tool in tools.TOOLS.items()}

    assert arguments == {
        "whoami": set(),
        "update_profile": {"first_name", "last_name", "settings"},
        "list_users": {
            "search", "role", "is_active", "second_factor", "not_signed_in_since",
            "page", "per_page",
        },
        "get_user": {"user_id"},
        "update_user": {"user_id", "role", "is_active"},
        "list_invitations": {"status", "page", "per_page"},
        "invite_user": {"email", "role", "consultant_id"},
        "resend_invitation": {"invitation_id"},
        "revoke_invitation": {"invitation_id"},
        "sign_out_user": {"user_id"},
        "send_password_mail": {"user_id"},
        "list_events": {"user_id", "kind", "since", "until", "page", "per_page"},
    }  # fmt: skip


@pytest.mark.parametrize("tool", [name for name in tools.TOOLS if name not in MEMBER_TOOLS])
def test_members_cannot_call_tools_of_admins(as_bob, tool):
    answer = send(as_bob, "tools/call", name=tool, arguments={})

    assert answer.status_code == 400
    assert answer.json()["error"] == {"code": -32602, "message": "Unknown tool"}


def test_profile_is_changed(as_bob):
    answer = answer_of(call_tool(as_bob, "update_profile", settings={"language": "sv"}))

    assert answer == as_bob.get("/auth/me").json()
    assert answer["settings"] == {"language": "sv"}


@pytest.mark.parametrize(
    ("tool", "arguments", "path"),
    [
        ("whoami", {}, "/auth/me"),
        ("list_users", {"search": "bo", "is_active": True}, "/users?search=bo&is_active=true"),
        ("list_users", {"page": 0}, "/users?page=0"),
        ("list_users", {"page": 1.5}, "/users?page=1.5"),
        ("list_users", {"search": None, "page": "1"}, "/users?page=1"),
        ("list_users", {"per_page": True}, "/users?per_page=true"),
        ("list_users", {"role": "boss"}, "/users?role=boss"),
        ("list_invitations", {"status": "pending"}, "/invitations?status=pending"),
    ],
)
def test_tool_answers_what_its_call_answers(as_ada, bob, invitation, tool, arguments, path):
    result, rest_answer = call_tool(as_ada, tool, **arguments), as_ada.get(path)

    answer = answer_of(result) if rest_answer.status_code == 200 else error_of(result)
    assert answer == rest_answer.json()


@pytest.mark.parametrize("tool", USER_TOOLS)
def test_users_of_another_company_are_not_found(as_ada, eve, tool):
    for user_id in (str(eve.pk), UNKNOWN_ID):
        result = call_tool(as_ada, tool, user_id=user_id)
        assert error_of(result) == {"error": "not found"}
        assert [part["text"] for part in result["content"][1:]] == ["Get ids from list_users."]


@pytest.mark.parametrize("tool", USER_TOOLS)
@pytest.mark.parametrize("user_id", ["no-id", "../auth/me", "", "bob@example.com", 5, None])
def test_invalid_id_is_answered_with_the_tool_that_lists_ids(as_ada, tool, user_id):
    fields = {"user_id": ["Not a valid id. Get ids from list_users."]}

    assert error_of(call_tool(as_ada, tool, user_id=user_id)) == {
        "error": "invalid request", "fields": fields
    }  # fmt: skip


def test_user_is_signed_out(as_ada, as_bob, bob):
    assert answer_of(call_tool(as_ada, "sign_out_user", user_id=str(bob.pk))) == {}
    assert as_bob.get("/auth/me").status_code == 401
    assert AuditEvent.objects.get(kind=Kind.LOGOUT_EVERYWHERE).detail["via"] == "mcp"


def test_user_is_mailed_a_password_link(as_ada, bob):
    assert answer_of(call_tool(as_ada, "send_password_mail", user_id=str(bob.pk))) == {}
    assert mailed().to == [bob.email]
    assert (
        AuditEvent.objects.get(kind=Kind.PASSWORD_LINK_REQUESTED).actor_email == "ada@example.com"
    )


def test_events_are_listed(as_ada, bob):
    call_tool(as_ada, "update_user", user_id=str(bob.pk), role="admin")

    answer = answer_of(call_tool(as_ada, "list_events", kind="user.role", per_page=5))

    assert answer == as_ada.get("/audit?kind=user.role&per_page=5").json()
    assert (answer["items"][0]["via"], answer["total"]) == ("mcp", 1)


def test_user_is_changed(as_ada, bob):
    arguments = {"user_id": str(bob.pk), "role": "admin", "is_active": False}

    answer = answer_of(call_tool(as_ada, "update_user", **arguments))

    assert answer == as_ada.get(f"/users/{bob.pk}").json()
    assert answer == answer_of(call_tool(as_ada, "get_user", user_id=str(bob.pk)))
    bob.refresh_from_db()
    assert (bob.role, bob.is_active) == ("admin", False)


def test_user_is_invited(as_ada):
    arguments = {"email": "New@Example.com", "role": "admin", "consultant_id": None}

    answer = answer_of(call_tool(as_ada, "invite_user", **arguments))

    assert answer["email"] == "new@example.com"
    assert as_ada.get("/invitations").json()["items"] == [answer]


def test_null_counts_as_an_absent_argument(as_ada, bob):
    """Some clients send every optional argument."""
    invited = answer_of(call_tool(as_ada, "invite_user", email="new@example.com", role=None))
    assert invited["role"] == "member"
    arguments = {"user_id": str(bob.pk), "role": None, "is_active": False}
    assert answer_of(call_tool(as_ada, "update_user", **arguments))["is_active"] is False

    error = error_of(call_tool(as_ada, "invite_user", email=None))
    assert error["fields"] == {"email": ["This field is required."]}


def test_empty_text_counts_as_an_absent_optional_argument(as_ada, bob):
    """Some clients send every optional argument, and some models write "" for it."""
    filters = dict.fromkeys(["role", "search", "not_signed_in_since", "is_active", "page"], "")
    assert answer_of(call_tool(as_ada, "list_users", **filters))["total"] == 2
    filters = dict.fromkeys(["kind", "since", "until", "user_id"], "")
    assert answer_of(call_tool(as_ada, "list_events", **filters))["total"] == 0
    invited = answer_of(
        call_tool(as_ada, "invite_user", email="new@example.com", role="", consultant_id="")
    )
    assert (invited["role"], invited["consultant_id"]) == ("member", None)

    for tool, argument in [("invite_user", "email"), ("get_user", "user_id")]:
        assert list(error_of(call_tool(as_ada, tool, **{argument: ""}))["fields"]) == [argument]


def test_object_may_come_as_json_in_a_text(as_bob):
    """As some clients send it."""
    changed = answer_of(call_tool(as_bob, "update_profile", settings='{"language": "de"}'))
    assert changed["settings"] == {"language": "de"}
    for empty in [None, "", {}, {"language": None}, '{"language": ""}']:
        assert answer_of(call_tool(as_bob, "update_profile", settings=empty)) == changed

    for value in ["de", "[]", "{", '"{}"', ["de"], {"language": "fr"}, '{"language": "fr"}', "NaN"]:
        assert list(error_of(call_tool(as_bob, "update_profile", settings=value))["fields"]) == [
            "settings"
        ]


def test_invitation_is_sent_again(as_ada, invitation):
    result = call_tool(as_ada, "resend_invitation", invitation_id=str(invitation.pk))

    assert answer_of(result)["id"] == str(invitation.pk)
    assert Invitation.objects.get().generation == 2


def test_invitation_is_revoked(as_ada, invitation):
    arguments = {"invitation_id": str(invitation.pk)}

    assert answer_of(call_tool(as_ada, "revoke_invitation", **arguments)) == {}
    assert error_of(call_tool(as_ada, "revoke_invitation", **arguments)) == {
        "error": "invitation is no longer open"
    }


@pytest.mark.parametrize("tool", ["resend_invitation", "revoke_invitation"])
def test_invitations_of_another_company_are_not_found(as_eve, invitation, tool):
    for invitation_id in (str(invitation.pk), UNKNOWN_ID):
        result = call_tool(as_eve, tool, invitation_id=invitation_id)
        assert error_of(result) == {"error": "not found"}


def test_unknown_argument_is_named(as_ada):
    fields = {"verbose": ["Unknown argument."]}

    error = error_of(call_tool(as_ada, "whoami", verbose=True))
    assert error == {"error": "invalid request", "fields": fields}


def test_event_names_the_app_that_acted(as_ada, assistant, bob):
    call_tool(as_ada, "update_profile", first_name="Augusta")
    call_tool(assistant, "update_profile", first_name="Ada")

    api_event, app_event = AuditEvent.objects.filter(kind=Kind.PROFILE_CHANGED).order_by("pk")
    claims = {"client": "Testbench"}
    assert api_event.detail == {"via": "mcp", "claims": claims, "fields": ["first_name"]}
    assert app_event.detail["grant"]
    assert app_event.actor_email == "ada@example.com"


@pytest.mark.parametrize("exception", [RateLimited, TooManyAttempts])
def test_rate_limited_rest_call_is_an_error_of_the_tool(as_ada, monkeypatch, exception):
    def refuse(*args, **fields):
        raise exception

    monkeypatch.setattr(type(Invitation.objects), "invite", refuse)  # none of today's calls does
    result = call_tool(as_ada, "invite_user", email="charles@example.com")

    assert error_of(result)["error"] == exception.default_detail
