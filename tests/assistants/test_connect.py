"""How an assistant is let in: found out, registered, allowed by a person, given tokens."""

import re

import pytest
from django.conf import settings

from assistants.models import Client, Grant
from audit.models import Kind, Record
from tests.assistants.conftest import (
    REDIRECT,
    RESOURCE,
    Person,
    answered,
    form,
    let_in,
    redeem,
    refresh,
    request_of,
    use,
)
from tests.conftest import API

pytestmark = pytest.mark.django_db

BASE = settings.SERVICE_URL


def test_401_says_where_to_ask(api):
    answer = api.post("/mcp", {})

    assert answer.status_code == 401
    assert answer.json() == {"error": "missing or invalid token"}
    assert answer["WWW-Authenticate"] == (
        f'Bearer resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp"'
    )


@pytest.mark.parametrize("path", ["", "/mcp"])
def test_protected_resource_names_its_authorization_server(api, path):
    metadata = api.get(f"/.well-known/oauth-protected-resource{path}").json()

    assert metadata["resource"] == RESOURCE
    assert metadata["authorization_servers"] == [BASE]


def test_authorization_server_describes_itself(api):
    metadata = api.get("/.well-known/oauth-authorization-server").json()

    assert metadata["issuer"] == BASE
    assert metadata["code_challenge_methods_supported"] == ["S256"]
    assert metadata["token_endpoint_auth_methods_supported"] == ["none"]
    assert metadata["authorization_response_iss_parameter_supported"] is True


def test_client_registers(api):
    answer = api.post("/oauth/register", {"client_name": "Claudia", "redirect_uris": [REDIRECT]})

    client = Client.objects.get()
    assert answer.status_code == 201
    assert answer.json() == {
        "client_id": str(client.pk),
        "client_id_issued_at": int(client.created_at.timestamp()),
        "client_name": "Claudia",
        "redirect_uris": [REDIRECT],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": "mcp",
    }


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_redirect_uri"),
        ({"redirect_uris": "https://a.example"}, "invalid_redirect_uri"),
        ({"redirect_uris": [5]}, "invalid_redirect_uri"),
        ({"redirect_uris": [REDIRECT] * 11}, "invalid_redirect_uri"),
        ({"redirect_uris": [REDIRECT], "client_name": 5}, "invalid_client_metadata"),
        ({"redirect_uris": [REDIRECT], "client_name": "\u202eadmin"}, "invalid_client_metadata"),
        (
            {"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "client_secret_basic"},
            "invalid_client_metadata",
        ),
        ({"redirect_uris": [REDIRECT], "grant_types": ["implicit"]}, "invalid_client_metadata"),
        ({"redirect_uris": [REDIRECT], "grant_types": {"a": 1}}, "invalid_client_metadata"),
        ({"redirect_uris": [REDIRECT], "response_types": ["token"]}, "invalid_client_metadata"),
    ],
)
def test_registration_is_refused(api, metadata, error):
    answer = api.post("/oauth/register", metadata)

    assert answer.status_code == 400
    assert answer.json()["error"] == error
    assert not Client.objects.exists()


def test_person_lets_an_assistant_in(api, client, ada):
    person = Person(request_of(client))
    assert "Testbench" in person.page.content.decode()
    consent = person.sign_in("Ada@Example.com").content.decode()
    assert all(shown in consent for shown in ["Testbench", "127.0.0.1", ada.email, "Analytical"])

    answer = answered(person.decide("allow"))

    assert person.page["Location"].startswith(REDIRECT)
    assert (answer["state"], answer["iss"]) == ("state-of-the-client", BASE)
    tokens = redeem(api, client, answer["code"]).json()
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "mcp")
    assistant = API(authorization=f"Bearer {tokens['access_token']}")
    assert use(assistant, "whoami")["structuredContent"]["email"] == ada.email


def test_person_says_no(client, ada):
    person = Person(request_of(client))
    person.sign_in(ada.email)

    answer = answered(person.decide("deny"))

    assert answer["error"] == "access_denied"
    assert (answer["state"], answer["iss"]) == ("state-of-the-client", BASE)
    assert not Grant.objects.exists()


def test_wrong_password_is_said_and_the_address_kept(client, ada):
    person = Person(request_of(client))

    page = person.sign_in(ada.email, "wrong password")

    assert page.status_code == 401
    assert 'role="alert"' in page.content.decode()
    assert f'value="{ada.email}"' in page.content.decode()
    assert Record.objects.filter(kind=Kind.LOGIN_FAILED).count() == 1


def test_second_click_makes_no_second_grant(client, ada):
    person = Person(request_of(client))
    consent = person.sign_in(ada.email)
    person.decide("allow")
    person.page = consent

    again = person.decide("allow")

    assert again.status_code == 409
    assert "answered already" in again.content.decode()
    assert Grant.objects.count() == 1


def test_form_expires(client, ada, time_machine):
    time_machine.move_to("2026-11-21 10:00:00+00:00", tick=False)
    person = Person(request_of(client))
    person.sign_in(ada.email)
    time_machine.shift(601)

    page = person.decide("allow")

    assert page.status_code == 400
    assert "has expired" in page.content.decode()


def test_form_is_no_good_once_the_sessions_were_ended(client, ada):
    person = Person(request_of(client))
    person.sign_in(ada.email)
    ada.sign_out()

    assert person.decide("allow").status_code == 400


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": ""}, "unsupported_response_type"),
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge_method": ""}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"resource": BASE}, "invalid_target"),
        ({"resource": ""}, "invalid_target"),
        ({"scope": "mcp admin"}, "invalid_scope"),
    ],
)
def test_client_is_told_what_is_wrong_with_its_request(client, pair, changes, error):
    answer = answered(Person(request_of(client, **changes)).page)

    assert answer["error"] == error
    assert (answer["state"], answer["iss"]) == ("state-of-the-client", BASE)


def test_parameter_that_is_there_twice_is_refused(client, pair):
    query = request_of(client)
    page = Person({**query, "state": ["a", "b"]}).page  # type: ignore[dict-item]

    assert answered(page)["error"] == "invalid_request"


def test_refresh_gives_a_new_pair(api, client, pair):
    renewed = refresh(api, client, pair["refresh_token"]).json()

    assert renewed["refresh_token"] != pair["refresh_token"]
    assistant = API(authorization=f"Bearer {renewed['access_token']}")
    assert use(assistant, "whoami")["isError"] is False


def test_access_token_names_what_it_is_for(pair, client):
    from assistants import tokens

    token = tokens.read(pair["access_token"])

    assert token is not None
    assert (token["aud"], token["scope"]) == (RESOURCE, "mcp")
    assert token["client_id"] == str(client.pk)


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_client_gives_its_grant_back(api, client, pair, assistant, kind):
    answer = form(api, "/oauth/revoke", token=pair[kind], client_id=str(client.pk))

    assert answer.status_code == 200
    assert assistant.post("/mcp", {}).status_code == 401
    assert refresh(api, client, pair["refresh_token"]).json()["error"] == "invalid_grant"


def test_revoking_what_does_not_hold_is_no_error(api, client):
    assert form(api, "/oauth/revoke", token="x", client_id=str(client.pk)).status_code == 200


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": ""}, "unsupported_grant_type"),
        ({"client_id": "x"}, "invalid_client"),
        ({"client_secret": "x"}, "invalid_request"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"scope": "admin"}, "invalid_scope"),
    ],
)
def test_token_endpoint_says_what_is_wrong(api, client, ada, fields, error):
    answer = redeem(api, client, let_in(client, ada), **fields)

    assert answer.status_code == 400
    assert answer.json()["error"] == error
    assert set(answer.json()) == {"error", "error_description"}


def test_page_speaks_the_persons_language(client):
    from django.test import Client as Browser

    page = Browser().get("/oauth/authorize", request_of(client), headers={"accept-language": "de"})

    assert '<html lang="de">' in page.content.decode()


def test_page_allows_no_frame_and_no_script(client):
    page = Person(request_of(client)).page

    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    assert "script-src" not in page["Content-Security-Policy"]
    assert page["X-Frame-Options"] == "DENY"
    assert page["Cache-Control"] == "no-store"


def test_page_may_lead_to_the_client_alone(client):
    policy = Person(request_of(client)).page["Content-Security-Policy"]

    assert re.search(r"form-action 'self' http://127\.0\.0\.1:3030(;|$)", policy)


def test_trail_tells_who_let_whom_in(api, client, ada):
    redeem(api, client, let_in(client, ada))

    record = Record.objects.get(kind=Kind.ASSISTANT_LET_IN)
    assert record.actor_email == ada.email
    assert record.detail["claims"] == {"client": "Testbench"}
    assert record.detail["host"] == "127.0.0.1"
