"""How an app connects: metadata, registration, the user's consent, tokens."""

from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.utils import timezone

from assistants.models import Client, Grant
from assistants.oauth import canonical_url
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from tests.assistants.conftest import (
    INVALID_GRANT,
    REDIRECT,
    RESOURCE,
    Person,
    app_with,
    authorization_query,
    authorize,
    call_tool,
    error_of,
    post_form,
    redeem,
    redirect_query,
    refresh,
)
from tests.clients import API
from tests.throttling.helpers import fail

pytestmark = pytest.mark.django_db

BASE = settings.SERVICE_URL


@pytest.mark.parametrize("token", [None, "x", "a.b.c"])
def test_401_names_the_metadata_and_an_invalid_token(token):
    answer = API(**{"authorization": f"Bearer {token}"} if token else {}).post("/mcp", {})

    assert answer.status_code == 401
    assert answer.json() == {"error": "missing or invalid token"}
    challenge = (
        f'Bearer resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp", scope="mcp"'
    )
    assert answer["WWW-Authenticate"] == challenge + (', error="invalid_token"' if token else "")


@pytest.mark.parametrize("path", ["", "/mcp"])
def test_protected_resource_names_its_authorization_server(api, path):
    metadata = api.get(f"/.well-known/oauth-protected-resource{path}").json()

    assert metadata["resource"] == RESOURCE
    assert metadata["authorization_servers"] == [BASE]


def test_metadata_describes_the_authorization_server(api):
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
        ({"redirect_uris": None}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://a.example/", "cursor://callback"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [REDIRECT], "client_name": 5}, "invalid_client_metadata"),
    ],
)
def test_invalid_registration_is_refused(api, metadata, error):
    assert error_of(api.post("/oauth/register", metadata)) == (400, error)
    assert not Client.objects.exists()


def test_longest_redirect_uri_can_be_used_with_any_port(api, ada):
    longest = "http://127.0.0.1/".ljust(1994, "a")
    refusal = api.post("/oauth/register", {"redirect_uris": [longest + "a"]})
    assert api.post("/oauth/register", {"redirect_uris": [longest]}).status_code == 201
    uri = longest.replace("/a", ":65535/a", 1)

    code = authorize(Client.objects.get(), ada, redirect_uri=uri)

    assert redeem(api, Client.objects.get(), code, redirect_uri=uri).status_code == 200
    assert refusal.status_code == 400


def test_empty_redirect_uri_counts_as_missing(api, client, ada):
    """RFC 6749 §3.2."""
    answer = redeem(api, client, authorize(client, ada), redirect_uri="")

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("name", "clean_name"),
    [
        ("\u202eadmin\u200b", "admin"),
        ("two\n lines\x00", "two lines"),
        ("n" * 5000, "n" * 100),
        ("Zo\u00eb", "Zo\u00eb"),
        ("A\u3164d\u115fm\u2800i\u034fn\ufe0f\U000e0100", "Admin"),
        ("\t", ""),
        ("\u3164.\u2066", ""),
    ],
)
def test_registered_name_is_cut_and_cleaned(api, name, clean_name):
    answer = api.post("/oauth/register", {"redirect_uris": [REDIRECT], "client_name": name})

    assert answer.json()["client_name"] == Client.objects.get().name == clean_name


def test_unsafe_redirect_uris_are_left_out_of_a_registration(api):
    uris = ["cursor://callback", REDIRECT, "http://a.example/", 5, "https://a.example/", REDIRECT]

    answer = api.post("/oauth/register", {"redirect_uris": uris})

    valid_uris = [REDIRECT, "https://a.example/"]
    assert answer.json()["redirect_uris"] == Client.objects.get().redirect_uris == valid_uris


@pytest.mark.parametrize(
    "uri", ["cursor://anysphere.cursor-mcp/oauth/callback", "com.example.app:/callback?x=1"]
)
def test_private_use_scheme_works_if_operators_allow_it(api, ada, settings, uri):
    settings.ASSISTANT_REDIRECT_SCHEMES = ["cursor", "com.example.app"]
    client_id = api.post("/oauth/register", {"redirect_uris": [uri]}).json()["client_id"]
    client = Client.objects.get(pk=client_id)
    scheme = uri.partition(":")[0]

    person = Person(authorization_query(client))

    assert "Any app could claim to be it" in person.page.content.decode()
    person.sign_in(ada.email)
    code = person.allow()
    assert person.page["Location"].startswith(uri)
    assert redeem(api, client, code).status_code == 200
    assert Grant.objects.get().host == f"{scheme}:"


def test_user_allows_an_assistant(api, client, person, ada):
    assert "Testbench" in person.page.content.decode()
    consent = person.sign_in("Ada@Example.com").content.decode()
    assert all(text in consent for text in ["Testbench", "127.0.0.1", ada.email, "Analytical"])

    answer = redirect_query(person.decide("allow"))

    assert person.page["Location"].startswith(REDIRECT)
    assert (answer["state"], answer["iss"]) == ("state-of-the-client", BASE)
    tokens = redeem(api, client, answer["code"]).json()
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "mcp")
    assert call_tool(app_with(tokens), "whoami")["structuredContent"]["email"] == ada.email
    event = AuditEvent.objects.get(kind=Kind.ASSISTANT_CONNECTED)
    assert event.actor_email == ada.email
    assert event.detail["claims"] == {"client": "Testbench"}
    assert event.detail["host"] == "127.0.0.1"


def test_user_denies_access(signed_in):
    answer = redirect_query(signed_in.decide("deny"))

    assert answer["error"] == "access_denied"
    assert (answer["state"], answer["iss"]) == ("state-of-the-client", BASE)
    assert not Grant.objects.exists()


def test_wrong_password_shows_the_form_with_the_address(person, ada):
    page = person.sign_in(ada.email, "wrong password")

    assert page.status_code == 401
    assert 'role="alert"' in page.content.decode()
    assert f'value="{ada.email}"' in page.content.decode()
    assert AuditEvent.objects.filter(kind=Kind.LOGIN_FAILED).count() == 1


def test_address_that_no_database_takes_is_refused(person):
    page = person.sign_in("ada@\x00example.com", "wrong password")

    assert (page.status_code, 'role="alert"' in page.content.decode()) == (401, True)


def test_second_click_on_allow_makes_no_second_grant(api, client, signed_in):
    consent, code = signed_in.page, signed_in.allow()
    signed_in.page = consent

    assert signed_in.allow() == code
    assert redeem(api, client, code).status_code == 200
    signed_in.page = consent
    assert signed_in.decide("allow").status_code == 400
    assert Grant.objects.get().ended_at is None


def test_user_who_goes_back_can_still_deny(api, client, signed_in):
    consent, code = signed_in.page, signed_in.allow()
    signed_in.page = consent

    assert signed_in.deny()
    assert redeem(api, client, code).status_code == 400
    signed_in.page = consent
    assert signed_in.decide("allow").status_code == 400


@pytest.mark.parametrize(("is_allowed", "seconds"), [(False, 601), (True, 61)])
def test_consent_form_and_its_code_expire(person, ada, time_machine, is_allowed, seconds):
    time_machine.move_to(timezone.now(), tick=False)
    consent = person.sign_in(ada.email)
    if is_allowed:
        person.decide("allow")
        person.page = consent
    time_machine.shift(seconds)

    page = person.decide("allow")

    assert page.status_code == 400
    assert "has expired" in page.content.decode()


def test_consent_form_is_refused_once_sessions_have_ended(signed_in, ada):
    ada.sign_out(COMMAND)

    assert signed_in.decide("allow").status_code == 400


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
        ({"resource": [RESOURCE, "https://elsewhere.example/mcp"]}, "invalid_target"),
        ({"resource": ["https://elsewhere.example/mcp", RESOURCE]}, "invalid_target"),
    ],
)
def test_invalid_request_shows_an_error_and_never_redirects(client, pair, changes, error):
    """We would be an open redirect to whoever registers a client (RFC 9700 §4.11.2)."""
    page = Person(authorization_query(client, **changes)).page

    assert page.status_code == 400
    assert error in page.content.decode()
    assert "Location" not in page


def test_access_token_expires_after_an_hour(assistant, time_machine):
    time_machine.move_to(timezone.now() + timedelta(seconds=3590))
    assert assistant.post("/mcp", {}).status_code == 400
    time_machine.shift(10)

    assert assistant.post("/mcp", {}).status_code == 401


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_client_revokes_its_grant(api, client, pair, assistant, kind):
    answer = post_form(api, "/oauth/revoke", token=pair[kind], client_id=str(client.pk))

    assert answer.status_code == 200
    assert assistant.post("/mcp", {}).status_code == 401
    assert error_of(refresh(api, client, pair["refresh_token"])) == INVALID_GRANT


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": ""}, "unsupported_grant_type"),
        ({"client_id": "x"}, "invalid_client"),
        ({"resource": "https://elsewhere.example/mcp"}, "invalid_target"),
        ({"resource": BASE}, "invalid_target"),
    ],
)
def test_token_endpoint_answers_with_the_error_of_oauth(api, client, ada, fields, error):
    answer = redeem(api, client, authorize(client, ada), **fields)

    assert error_of(answer) == (400, error)
    assert set(answer.json()) == {"error", "error_description"}


@pytest.mark.parametrize("resource", [
    "", RESOURCE, f"{RESOURCE}/", f"{RESOURCE}?api=1", f"{RESOURCE}/?api=1",
    RESOURCE.replace("http://", "HTTP://"),
])  # fmt: skip
def test_resource_may_be_left_out_or_spelled_differently(api, client, ada, resource):
    code = authorize(client, ada, resource=resource)

    answer = redeem(api, client, code, resource=resource)
    assert answer.status_code == 200
    token = answer.json()["refresh_token"]
    assert refresh(api, client, token, resource=resource).status_code == 200


@pytest.mark.parametrize("url", [
    "https://auth.example.com/mcp", "HTTPS://Auth.Example.COM:443/mcp/?a=b",
    "https://auth.example.com:443/mcp",
])  # fmt: skip
def test_spellings_of_a_resource_are_equal(url):
    assert canonical_url(url) == "https://auth.example.com/mcp"


@pytest.mark.parametrize("url", [
    "https://auth.example.com/MCP", "https://auth.example.com/mcp//",
    "https://auth.example.com/mcp/x", "https://auth.example.com:8443/mcp",
    "http://auth.example.com/mcp", "http://auth.example.com:443/mcp",
    "https://user@auth.example.com/mcp", "https://auth.example.com.evil.example/mcp",
    "https://auth.example.com/mcp#a", "https://auth.example.com\\@evil.example/mcp", "/mcp", "mcp",
    "https://auth.example.com:port/mcp", "https://[::1/mcp",
])  # fmt: skip
def test_other_resources_are_not_equal(url):
    assert canonical_url(url) != "https://auth.example.com/mcp"


@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/revoke"])
def test_unknown_client_that_shows_a_secret_gets_401(api, db, path):
    """RFC 6749 §5.2."""
    fields = {"grant_type": "refresh_token", "refresh_token": "x", "token": "x", "client_id": "x"}
    body, kind = urlencode(fields), "application/x-www-form-urlencoded"
    answers = [
        api.client.post(path, body, kind, headers={"authorization": "Basic eDp5"}),
        post_form(api, path, **fields, client_secret="y"),
        post_form(api, path, **fields),
    ]

    errors = [(error_of(answer), answer.headers.get("WWW-Authenticate")) for answer in answers]
    with_secret = ((401, "invalid_client"), 'Basic realm="oauth"')
    assert errors == [with_secret, with_secret, ((400, "invalid_client"), None)]


def test_consent_pages_allow_no_frame_and_the_decision_no_script(person, ada):
    first, decision = person.page, person.sign_in(ada.email)

    assert "script-src 'self'; form-action 'self'" in first["Content-Security-Policy"]
    for page in (first, decision):
        policy = page["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert page["X-Frame-Options"] == "DENY"
        assert page["Cache-Control"] == "no-store"
    assert "script" not in decision["Content-Security-Policy"]
    assert "form-action" not in decision["Content-Security-Policy"]  # redirects go anywhere
    assert b"<script" not in decision.content


@pytest.mark.parametrize("language", ["de", "sv"])
def test_consent_pages_have_the_chosen_language(client, ada, language):
    person = Person(authorization_query(client, language=language))

    pages = [person.page, person.sign_in(ada.email)]

    assert all(f'<html lang="{language}">' in page.content.decode() for page in pages)
    assert person.deny()


def test_page_for_a_locked_address_links_to_the_password_reset(person, ada):
    fail(settings.LOCKOUT_THRESHOLD, ada.email)

    page = person.sign_in(ada.email).content.decode()

    assert "wait 15 minutes or reset your password" in page
    assert 'href="/forgot-password"' in page
