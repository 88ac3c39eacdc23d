"""A provider's metadata and keys, and the issuer of its answers."""

import time
from functools import partial

import pytest

from base.outgoing import HttpClient
from sso import flow, openid
from sso.errors import ProviderFailed, Refusal
from sso.linking import require_proved_domains
from sso.models import ProviderMetadata
from tests.sso.conftest import Browser
from tests.sso.provider import ANSWERS, jwk, signed

pytestmark = pytest.mark.django_db
PATH = "/.well-known/openid-configuration"

UNUSABLE = {
    "other issuer": ({"issuer": "https://login.example.org"}, "issuer"),
    "issuer of all tenants": ({"issuer": "https://localhost/{tenantid}/v2.0"}, "issuer"),
    "no issuer": ({"issuer": ...}, "issuer"),
    "issuer in a list": ({"issuer": ["https://localhost"]}, "issuer"),
    "no token endpoint": ({"token_endpoint": ...}, "endpoint"),
    "no keys": ({"jwks_uri": ...}, "endpoint"),
    "token endpoint on http": ({"token_endpoint": "http://example.org/token"}, "endpoint"),
    "token endpoint at another port": ({"token_endpoint": "https://localhost:9/token"}, "endpoint"),
    "keys on http": ({"jwks_uri": "http://localhost/keys"}, "endpoint"),
    "keys inside": ({"jwks_uri": "https://127.0.0.1/keys"}, "endpoint"),
    "keys on this machine": ({"jwks_uri": "https://localhost/keys"}, "unreachable"),
    "token endpoint inside": ({"token_endpoint": "https://[fd00::1]/token"}, "endpoint"),
    "userinfo of the cloud": ({"userinfo_endpoint": "https://169.254.169.254/"}, "endpoint"),
    "userinfo on http": ({"userinfo_endpoint": "http://localhost/userinfo"}, "endpoint"),
    "page on http": ({"authorization_endpoint": "http://localhost/auth"}, "endpoint"),
    "page of a script": ({"authorization_endpoint": "javascript:alert(1)"}, "endpoint"),
    "page with a user": ({"authorization_endpoint": "https://a@localhost/auth"}, "endpoint"),
    "number": ({"token_endpoint": 7}, "endpoint"),
}


@pytest.mark.parametrize(("said", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_unusable_metadata_are_refused(provider, said, reason):
    provider.metadata = said

    with pytest.raises(ProviderFailed, match=reason):
        openid.discover_provider(provider.issuer)
    assert provider.asked["/token"] == 0


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("path", [PATH, "/keys"])
def test_answers_that_are_no_json_object_are_refused(provider, path, answer):
    provider.says[path] = answer

    with pytest.raises(ProviderFailed):
        openid.discover_provider(provider.issuer)
    assert provider.asked["/elsewhere"] == 0


@pytest.mark.parametrize("keys", [[], {}, None, "x"])
def test_provider_without_keys_is_refused(provider, keys):
    provider.keys = keys

    with pytest.raises(ProviderFailed, match="keys"):
        openid.discover_provider(provider.issuer)


def test_provider_at_a_private_address_is_called_only_if_allowed(provider, settings):
    settings.SSO_PRIVATE_ISSUERS = []

    with pytest.raises(ProviderFailed, match="url"):
        openid.discover_provider(provider.issuer)
    with pytest.raises(ProviderFailed, match="unreachable"):
        openid.discover_provider("https://localhost")
    assert not provider.asked


def test_issuer_may_end_with_a_slash(provider):
    issuer = f"{provider.issuer}/"
    provider.metadata = {"issuer": issuer}

    assert openid.discover_provider(issuer)["metadata"]["issuer"] == issuer


def test_unknown_members_of_keys_are_not_stored(browser, provider, connection, ada):
    odd = {"x5t": "\0", "\ud800": 1, "exp": float("inf")}
    provider.keys = [7, jwk("RSA2048", **odd), jwk("RSA2048", kid="\0")]
    ProviderMetadata.objects.store(connection, openid.discover_provider(provider.issuer))

    assert browser.sign_in(email=ada.email).status_code == 200


def test_withdrawn_key_is_accepted_for_a_day_at_most(browser, provider, ada, time_machine):
    provider.keys = [jwk("RSA2048 of another", kid="k2")]
    time_machine.move_to(time.time() + 86400 + 60)

    assert browser.visit(email=ada.email) == {"error": "provider"}


@pytest.fixture
def while_described(monkeypatch):
    """A function that makes `act` run while the provider's metadata are fetched."""
    discover = openid.discover_provider

    def arrange(act):
        monkeypatch.setattr(openid, "discover_provider", lambda url: [discover(url), act()][0])

    return arrange


def test_metadata_of_a_replaced_provider_are_not_stored(browser, ada, while_described):
    new_metadata = ProviderMetadata.objects.get().metadata | {"issuer": "https://login.example.org"}
    rows = ProviderMetadata.objects.all()
    rows.update(metadata_read_at="2020-01-01T00:00:00Z")
    while_described(lambda: rows.update(metadata=new_metadata, keys=[]))

    browser.start()

    assert rows.get().keys == []


@pytest.mark.parametrize("is_first", [True, False])
def test_provider_that_is_removed_while_it_is_described(
    browser, connection, while_described, is_first
):
    ProviderMetadata.objects.update(metadata_read_at="2020-01-01T00:00:00Z")
    ProviderMetadata.objects.filter(pk=connection.pk if is_first else None).delete()
    while_described(connection.delete)

    location = browser.start()

    assert location.endswith("/sso#error=switched_off") is is_first
    assert not ProviderMetadata.objects.exists()


def test_metadata_are_read_again_once_a_day(browser, provider, ada, time_machine):
    provider.metadata = {"token_endpoint": f"{provider.issuer}/moved"}
    provider.says["/moved"] = 200, {}, b"{}"
    time_machine.move_to(time.time() + 86400 - 60)
    assert browser.sign_in(email=ada.email).status_code == 200
    assert provider.asked[PATH] == 0
    time_machine.shift(120)

    for _ in range(2):
        assert browser.visit(email=ada.email) == {"error": "provider"}
    assert (provider.asked[PATH], provider.asked["/moved"]) == (1, 2)


@pytest.mark.parametrize("values", [
    {"metadata_read_at": "2099-01-01T00:00:00Z"},
    {"metadata": {"issuer": "https://login.example.org"}},
])  # fmt: skip
def test_metadata_of_the_future_or_of_another_issuer_are_not_used(browser, provider, ada, values):
    ProviderMetadata.objects.update(**values)

    assert browser.sign_in(email=ada.email).status_code == 200
    assert provider.asked[PATH] == 1


def test_metadata_stay_while_they_cannot_be_read(browser, provider, ada, time_machine):
    provider.says[PATH] = 500, {}, b""
    time_machine.move_to(time.time() + 86400 + 60)

    assert browser.sign_in(email=ada.email).status_code == 200


def test_client_secret_is_sent_in_the_form_if_the_provider_requires_it(
    browser, provider, connection
):
    said = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    provider.metadata = said
    ProviderMetadata.objects.store(connection, openid.discover_provider(provider.issuer))

    browser.visit()

    form = provider.forms[-1]
    assert (form["client_id"], form["client_secret"]) == (connection.client_id, connection.secret)


@pytest.mark.parametrize(("sends", "changes", "ends"), [
    (False, {}, "code"),
    (True, {"iss": "right"}, "code"),
    (False, {"iss": "right"}, "code"),
    (True, {}, "error"),
    (False, {"iss": "https://login.example.org"}, "error"),
    (True, {"iss": ""}, "error"),
])  # fmt: skip
def test_answer_with_the_iss_of_another_issuer_is_refused(
    browser, provider, connection, ada, sends, changes, ends
):
    provider.metadata = {"authorization_response_iss_parameter_supported": sends}
    ProviderMetadata.objects.store(connection, openid.discover_provider(provider.issuer))
    if changes.get("iss") == "right":
        changes = {"iss": provider.issuer}
    location = browser.start()

    end = browser.bring_answer(location, provider.approve(location, email=ada.email) | changes)

    assert [*end] == [ends]
    assert provider.asked["/token"] == (ends == "code")


@pytest.mark.parametrize(("workspace", "ends"), [
    ("example.com", "code"), ("example.org", "error"), ("", "error"), (7, "error"),
])  # fmt: skip
def test_google_workspace_must_be_a_proved_domain(browser, ada, workspace, ends):
    assert [*browser.visit(email=ada.email, hd=workspace)] == [ends]


def test_account_at_google_without_a_workspace_is_refused(connection):
    claims = {"iss": "https://accounts.google.com", "sub": "1", "email": "ada@example.com"}

    require_proved_domains(connection, openid.Person.from_claims(claims | {"hd": "example.com"}))
    for without in (claims, claims | {"hd": None}):
        with pytest.raises(Refusal, match="hd"):
            require_proved_domains(connection, openid.Person.from_claims(without))


def test_calls_of_a_callback_share_one_deadline(browser, provider, connection, ada, monkeypatch):
    monkeypatch.setattr(flow, "CALLBACK_SECONDS", 2)
    answer, provider.sign = provider.described(), partial(signed, kid="k2")
    # Longer than all calls may take together, but not longer than one may.
    monkeypatch.setattr(provider, "described", lambda: time.sleep(3) or answer)

    assert browser.visit(email=ada.email) == {"error": "provider"}
    assert provider.asked["/keys"] == 0
    connection.refresh_from_db()
    assert connection.last_problem == "metadata: timeout"


def test_busy_service_is_no_problem_of_the_provider(browser, provider, connection, monkeypatch):
    location = browser.start()
    answer = provider.approve(location)
    monkeypatch.setattr(
        openid, "provider_client", HttpClient("none", seconds=5, max_bytes=1, max_calls=1)
    )

    assert browser.bring_answer(location, answer) == {"error": "busy"}
    connection.refresh_from_db()
    assert (connection.last_problem, connection.failing_since) == ("", None)


def test_provider_that_cannot_be_reached_ends_at_the_front_end(provider, connection, settings):
    ProviderMetadata.objects.all().delete()
    settings.SSO_PRIVATE_ISSUERS = []
    assert Browser(provider).start() == "http://localhost:8000/sso#error=provider"
