"""Attacks with stolen or forged codes, tokens, redirect URIs and forms."""

import base64
import hashlib
from uuid import UUID

import pytest
from django.utils import timezone

from accounts import tokens as api_tokens
from assistants import redirects
from assistants.models import Client, Grant
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from tests import servers
from tests.assistants.conftest import (
    CHALLENGE,
    INVALID_GRANT,
    REDIRECT,
    VERIFIER,
    Person,
    app_with,
    authorization_query,
    authorize,
    can_call,
    error_of,
    grant_of,
    hidden_fields,
    post_form,
    redeem,
    refresh,
)
from tests.cast import PASSWORD
from tests.clients import API, TOO_MANY_ATTEMPTS
from tests.races import race
from throttling.limiter import limiter

pytestmark = pytest.mark.django_db
TOO_MANY_REQUESTS = (429, "temporarily_unavailable")


def test_code_works_once_and_its_second_use_ends_the_grant(api, client, ada):
    code = authorize(client, ada)
    tokens = redeem(api, client, code).json()

    assert error_of(redeem(api, client, code)) == INVALID_GRANT
    assert not can_call(app_with(tokens))
    assert error_of(refresh(api, client, tokens["refresh_token"])) == INVALID_GRANT
    assert AuditEvent.objects.get(kind=Kind.ASSISTANT_ENDED).detail["reason"] == "code used twice"


WRONG_REDEMPTIONS = [
    {"code_verifier": verifier}
    for verifier in ("w" * 43, "", "v" * 42, "v" * 44, VERIFIER + "=", CHALLENGE.decode())
] + [{"redirect_uri": uri} for uri in ("http://127.0.0.1:3031/callback", REDIRECT + "/", "x")]


@pytest.mark.parametrize("changes", WRONG_REDEMPTIONS)
def test_code_needs_its_verifier_and_redirect_uri(api, client, ada, changes):
    code = authorize(client, ada)

    assert error_of(redeem(api, client, code, **changes)) == INVALID_GRANT
    assert redeem(api, client, code).status_code == 200


def test_code_and_tokens_work_for_their_own_client_only(api, client, ada, pair, assistant):
    thief = Client.objects.create(name="Thief", redirect_uris=[REDIRECT])
    code, token = authorize(client, ada), pair["refresh_token"]

    assert error_of(redeem(api, thief, code)) == INVALID_GRANT
    assert error_of(refresh(api, thief, token)) == INVALID_GRANT
    post_form(api, "/oauth/revoke", token=token, client_id=str(thief.pk))
    assert redeem(api, client, code).status_code == 200
    assert can_call(assistant)
    assert refresh(api, client, token).status_code == 200


@pytest.mark.parametrize("verifier", ["v" * 42, "v" * 129, "v" * 42 + "!", "v" * 42 + "ü"])
def test_weak_verifier_is_refused_though_it_answers_the_challenge(api, client, ada, verifier):
    """RFC 7636 §4.1: 43 to 128 characters of the unreserved ones."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest())
    code = authorize(client, ada, code_challenge=digest.rstrip(b"=").decode())

    assert error_of(redeem(api, client, code, code_verifier=verifier)) == INVALID_GRANT


def test_code_expires_after_a_minute(api, client, ada, time_machine):
    time_machine.move_to("2026-11-21 10:00:00+00:00", tick=False)
    code = authorize(client, ada)
    time_machine.shift(60)

    assert error_of(redeem(api, client, code)) == INVALID_GRANT


def test_token_endpoint_refuses_made_up_tokens_and_those_of_other_kinds(api, client, ada, pair):
    code, made_up = authorize(client, ada), ("", "x", "a:b:c")
    access, api_refresh = api_tokens.issue_pair(ada)

    for token in (*made_up, code, str(access), str(api_refresh), pair["access_token"]):
        assert error_of(refresh(api, client, token)) == INVALID_GRANT
    for token in (*made_up, pair["refresh_token"], str(api_refresh)):
        assert error_of(redeem(api, client, token)) == INVALID_GRANT


def test_api_refuses_tokens_of_connected_apps(assistant, api, pair):
    for path in ("/auth/me", "/users", "/auth/grants"):
        assert assistant.get(path).status_code == 401
    assert assistant.post("/auth/logout").status_code == 401
    assert api.post("/auth/refresh", {"refresh_token": pair["access_token"]}).status_code == 401
    assert api.post("/auth/refresh", {"refresh_token": pair["refresh_token"]}).status_code == 401


def test_mcp_refuses_a_refresh_token_of_the_api(ada):
    assert not can_call(API(authorization=f"Bearer {api_tokens.issue_pair(ada)[1]}"))


def test_older_refresh_token_ends_the_grant(api, client, pair):
    new_tokens = refresh(api, client, pair["refresh_token"]).json()
    new_tokens = refresh(api, client, new_tokens["refresh_token"]).json()

    assert error_of(refresh(api, client, pair["refresh_token"])) == INVALID_GRANT
    assert error_of(refresh(api, client, new_tokens["refresh_token"])) == INVALID_GRANT
    assert not can_call(app_with(new_tokens))
    event = AuditEvent.objects.get(kind=Kind.ASSISTANT_ENDED)
    assert event.detail["reason"] == "refresh token used twice"


def test_preceding_refresh_token_ends_the_grant_after_30_seconds(api, client, pair, time_machine):
    time_machine.move_to(timezone.now(), tick=False)
    new_tokens = refresh(api, client, pair["refresh_token"]).json()
    time_machine.shift(29)
    assert refresh(api, client, pair["refresh_token"]).status_code == 200
    time_machine.shift(1)  # the grace is of the rotation, not of the use before

    assert error_of(refresh(api, client, pair["refresh_token"])) == INVALID_GRANT
    assert error_of(refresh(api, client, new_tokens["refresh_token"])) == INVALID_GRANT


def test_preceding_refresh_token_is_refused_once_the_grant_has_ended(api, client, pair):
    refresh(api, client, pair["refresh_token"])
    Grant.objects.get().end(COMMAND)

    assert error_of(refresh(api, client, pair["refresh_token"])) == INVALID_GRANT


@pytest.mark.django_db(transaction=True)
def test_racing_uses_of_a_code_give_one_pair(client, ada):
    code = authorize(client, ada)

    answers = race(*[lambda: redeem(API(), client, code)] * 15)

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 14
    assert Grant.objects.get().ended_at is not None


@pytest.mark.django_db(transaction=True)
def test_racing_refreshes_rotate_the_token_once(client, pair):
    answers = race(*[lambda: refresh(API(), client, pair["refresh_token"])] * 30)

    assert [answer.status_code for answer in answers] == [200] * 30
    assert len({answer.json()["refresh_token"] for answer in answers}) == 1
    grant = Grant.objects.get()
    assert (grant.generation, grant.ended_at) == (2, None)


FOREIGN_URIS = """
https://app.example@evil.test/cb https://app.example/cb# https://app.example/cb#x
https://app.example:444/cb https://app.example.evil.test/cb https://app.example/cb/../x
https://app.example/cbx https://app.example/CB https://APP.example/cb https://app.example/cb?x=1
http://app.example/cb http://localhost.evil.test:3030/callback
http://127.0.0.1.evil.test/callback http://localhost@evil.test/callback
http://localhost:3030/callbackx http://127.0.0.1:3030/callback http://[::1]:3030/callback
http://localhost:99999/callback https://localhost:3030/callback javascript:alert(1)
//evil.test/cb
"""


@pytest.mark.parametrize(
    "uri", [*FOREIGN_URIS.split(), "https://app.example\\@evil.test/cb", "", '"><script>']
)
def test_foreign_redirect_uri_is_never_redirected_to(db, ada, uri):
    registered_uris = ["https://app.example/cb", "http://localhost:3030/callback"]
    client = Client.objects.create(name="Testbench", redirect_uris=registered_uris)

    page = Person(authorization_query(client) | {"redirect_uri": uri}).page

    assert page.status_code == 400
    assert "Location" not in page
    assert "hasn't registered" in page.content.decode()


UNSAFE_URIS = """
ftp://a.example http://a.example/cb https://user@a.example/cb https://a.example/#x https://
https://a.example:99999/ https://a.exämple/ http://localhost.evil.test/ javascript:alert(1)
cursor://callback http://[::1/ http://[::1].evil.test/ https://[::1].evil.test/
http://[::1]evil.test/ http://evil.test[::1]/ https://[::1%25eth0]/ https://[v1.x]/
https://claude.ai%2eevil.test/ https://claude.ai%2Fx.evil.test/ https://a.example;script-src/
https://a.example,b.example/ https://*.example/ https://'self'/ https://a..example/
https://.a.example/ https://a.example./ https://-a.example/ https://a_b.example/
https://a.example:/ https://a.example:+1/ https://a.example:443;x/
"""


@pytest.mark.parametrize("uri", [*UNSAFE_URIS.split(), "https://a.example/ x", "https://a\\b/"])
def test_unsafe_redirect_uri_cannot_be_registered(uri):
    assert redirects.parse_allowed_uri(uri) is None


@pytest.mark.parametrize("uri", ["http://localhost:51004/callback", "http://localhost/callback"])
def test_loopback_redirect_uri_may_have_any_port(uri):
    assert redirects.is_registered(uri, ["http://localhost:3030/callback"])


@pytest.mark.parametrize("uri", ["http://127.0.0.1:3030", "http://127.0.0.1:3030/"])
@pytest.mark.parametrize("registered_uri", ["http://127.0.0.1", "http://127.0.0.1:9/"])
def test_loopback_redirect_uri_may_have_an_empty_path(api, ada, uri, registered_uri):
    client = Client.objects.create(name="Testbench", redirect_uris=[registered_uri])
    person = Person(authorization_query(client) | {"redirect_uri": uri})
    person.sign_in(ada.email)
    code = person.allow()

    assert redeem(api, client, code, redirect_uri=uri).status_code == 200


@pytest.mark.parametrize(
    "fields", [{"decision": "deny"}, {"decision": "allow", "ticket": "x"}, {"email": "a@b.example"}]
)
def test_forged_form_is_never_redirected(person, fields):
    person.query |= {"resource": "x"}
    step = {"step": "decision"} if "decision" in fields else {}

    page = person.post(fields, **step)

    assert page.status_code == 400
    assert "Location" not in page


def test_unknown_client_is_never_redirected(client):
    page = Person(authorization_query(client) | {"client_id": str(UUID(int=0))}).page

    assert page.status_code == 400
    assert "Unknown app" in page.content.decode()


@pytest.mark.parametrize("step", [{}, {"step": "decision"}])
def test_form_without_the_csrf_token_is_refused(signed_in, step):
    ticket = hidden_fields(signed_in.page)["ticket"]
    signed_in.page.content = b""

    assert signed_in.post({"ticket": ticket, "decision": "allow"}, **step).status_code == 400
    assert not Grant.objects.exists()


def test_sealed_sign_in_for_one_client_is_refused_for_another(signed_in):
    other = Client.objects.create(name="Other", redirect_uris=[REDIRECT])
    signed_in.query = authorization_query(other)

    assert signed_in.decide("allow").status_code == 400
    assert not Grant.objects.exists()


def test_password_sent_to_the_decision_url_is_ignored(person, ada):
    page = person.post({"email": ada.email, "password": PASSWORD}, step="decision")

    assert page.status_code == 400
    assert not AuditEvent.objects.exists()


def test_locked_and_throttled_sign_ins_get_the_same_page(person, ada, settings):
    settings.LOCKOUT_THRESHOLD = 1
    form_page = person.page
    person.sign_in(ada.email, "wrong password")
    person.page = form_page
    locked = person.sign_in(ada.email)
    settings.RATE_LIMIT_CREDENTIAL = 1
    person.page = form_page

    throttled = person.sign_in(ada.email)

    assert (locked.status_code, locked.content) == (429, throttled.content)
    assert sorted(locked.headers) == sorted(throttled.headers)


@pytest.mark.parametrize("call", ["register", "token", "revoke"])
def test_calls_of_clients_count_as_credential_calls(api, client, settings, call):
    settings.RATE_LIMIT_CREDENTIAL = 1
    post_form(api, f"/oauth/{call}")

    assert post_form(api, f"/oauth/{call}").status_code == 429


def test_registrations_count_as_credential_calls(api, settings):
    settings.RATE_LIMIT_CREDENTIAL = 2
    answers = [api.post("/oauth/register", {"redirect_uris": [REDIRECT]}) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [201, 201, 429]
    assert answers[2].json() == TOO_MANY_ATTEMPTS
    assert Client.objects.count() == 2


@pytest.fixture
def one_credential_call(pair, settings):
    """One credential call for each caller; those that made the pair are not counted."""
    limiter.reset()
    servers.REDIS.client.flushall()
    settings.RATE_LIMIT_CREDENTIAL = 1


@pytest.mark.usefixtures("one_credential_call")
def test_token_call_is_counted_by_grant(api, client, pair, bob):
    other = Client.objects.create(name="Other", redirect_uris=[REDIRECT])
    new_tokens = refresh(api, client, pair["refresh_token"]).json()

    refusal = refresh(api, client, new_tokens["refresh_token"])

    assert error_of(refusal) == TOO_MANY_REQUESTS
    assert set(refusal.json()) == {"error", "error_description"}
    assert int(refusal["Retry-After"]) > 0
    assert "x-ratelimit-limit" not in refusal
    grant = grant_of(bob, other)
    assert redeem(api, other, grant.authorization_code).status_code == 200  # from the same address
    assert error_of(redeem(api, other, grant.authorization_code)) == TOO_MANY_REQUESTS


@pytest.mark.usefixtures("one_credential_call")
@pytest.mark.parametrize("damage", [lambda token: token[:-1], lambda token: "x" + token, str.upper])
def test_token_with_an_invalid_signature_is_counted_by_address(api, client, pair, damage):
    assert error_of(refresh(api, client, damage(pair["refresh_token"]))) == INVALID_GRANT

    assert error_of(redeem(api, client, "made up")) == TOO_MANY_REQUESTS
    assert refresh(api, client, pair["refresh_token"]).status_code == 200


@pytest.mark.usefixtures("one_credential_call")
@pytest.mark.parametrize(
    ("body", "media_type", "status"),
    [
        (b"x" * 70_000, "application/x-www-form-urlencoded", 413),
        (b"&".join(b"a=%d" % n for n in range(3000)), "application/x-www-form-urlencoded", 400),
        (b"{}", "application/json", 415),
    ],
)
def test_malformed_token_requests_are_counted(api, body, media_type, status):
    assert api.client.post("/oauth/token", body, media_type).status_code == status

    assert api.client.post("/oauth/token", body, media_type).status_code == 429


def test_consent_page_and_decision_count_in_the_public_tier(client, ada, settings):
    settings.RATE_LIMIT_CREDENTIAL, settings.RATE_LIMIT_PUBLIC = 1, 3
    person = Person(authorization_query(client))
    person.sign_in(ada.email)

    assert person.page["x-ratelimit-limit"] == "1"
    assert person.decide("allow")["x-ratelimit-limit"] == "3"
