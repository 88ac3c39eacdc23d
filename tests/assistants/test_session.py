"""The consent page goes on with the session of a user who is signed in, and the grant ends with
that session."""

import json
import re
import time
from datetime import timedelta
from html import unescape

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.models import User
from accounts.tokens import REFRESH_COOKIE, issue_pair
from assistants.models import Grant
from sso.models import IdentityProvider
from tests.assistants.conftest import (
    Person,
    app_with,
    authorization_query,
    can_call,
    hidden_fields,
    redeem,
    redirect_query,
    refresh,
)
from tests.clients import API
from tests.signin.factors.helpers import with_app, with_passkey
from tests.sso.conftest import prove

pytestmark = pytest.mark.django_db
USERS_ACT = {
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-User": "?1",
}
WITHOUT_USER = {name: value for name, value in USERS_ACT.items() if name != "Sec-Fetch-User"}
APPLE = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
WEBKIT_AGENTS = [  # Safari, and Chrome on iOS
    f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) {APPLE} Version/26.1 Safari/605.1.15",
    f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) {APPLE} CriOS/140.0 Safari/604.1",
]
CHROME_AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36"
NO_ACT = [
    {},
    USERS_ACT | {"Sec-Fetch-Dest": "iframe"},
    USERS_ACT | {"Sec-Fetch-Site": "cross-site"},
    WITHOUT_USER,
    WITHOUT_USER | {"User-Agent": CHROME_AGENT},
    WITHOUT_USER | {"User-Agent": WEBKIT_AGENTS[0], "Sec-Fetch-Dest": "iframe"},
    {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
]


class Visitor(Person):
    """A person with the refresh cookie of a session, who presses buttons."""

    def __init__(self, query, user, amr=("pwd",), auth_time=None):
        super().__init__(query)
        _, token = issue_pair(user, auth_time, amr)
        self.browser.cookies[REFRESH_COOKIE] = str(token)

    def go_on(self, headers=USERS_ACT):
        return self.post({}, "/auth/authorize", headers, step="session")

    def decide(self, decision, headers=USERS_ACT):
        return self.post({"decision": decision}, headers=headers, step="decision")


@pytest.fixture
def query(client):
    return authorization_query(client)


@pytest.fixture
def provider_row(ada):
    prove(ada.account, "example.com")
    return IdentityProvider.objects.create(
        pk=ada.account_id,
        account=ada.account,
        issuer="https://idp.example",
        session_tag="a tag",
        active=True,
        required=True,
        tested_at=timezone.now(),
    )


def connect(visitor, api, client):
    visitor.go_on()
    return redeem(api, client, visitor.allow()).json()


def test_signed_in_user_goes_on_without_a_password(query, ada, api, client):
    visitor = Visitor(query, ada)

    page = visitor.go_on()

    assert page.status_code == 200
    assert ada.email in page.content.decode()
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    assert "script" not in page["Content-Security-Policy"]
    assert page["X-Frame-Options"] == "DENY"
    assert not Grant.objects.exists()
    code = visitor.allow()
    assert redeem(api, client, code).status_code == 200


@pytest.mark.parametrize("headers", NO_ACT)
def test_script_or_frame_can_t_go_on(query, ada, headers):
    page = Visitor(query, ada).go_on(headers)

    assert page.status_code == 401
    assert "You need to sign in for this." in page.content.decode()
    assert "session" not in hidden_fields(page)


@pytest.mark.parametrize("decision", ["allow", "deny"])
@pytest.mark.parametrize("headers", NO_ACT)
def test_script_or_frame_can_t_decide(query, ada, headers, decision):
    visitor = Visitor(query, ada)
    visitor.go_on()

    assert visitor.decide(decision, headers).status_code == 400
    assert not Grant.objects.exists()


@pytest.mark.parametrize("agent", WEBKIT_AGENTS)
def test_webkit_which_sends_no_sec_fetch_user_goes_on(query, ada, api, client, agent):
    visitor, headers = Visitor(query, ada), WITHOUT_USER | {"User-Agent": agent}
    visitor.go_on(headers)

    code = redirect_query(visitor.decide("allow", headers))["code"]
    assert redeem(api, client, code).status_code == 200


def test_other_page_can_t_go_on(query, ada):
    visitor = Visitor(query, ada)

    assert visitor.post({"csrfmiddlewaretoken": "x" * 32}, step="session").status_code == 400
    visitor.page = visitor.browser.get("/oauth/authorize", query)
    page = visitor.go_on(USERS_ACT | {"Origin": "https://evil.test"})
    assert page.status_code == 400
    assert not Grant.objects.exists()


def test_session_of_a_request_is_of_no_use_for_another(query, ada, client):
    visitor = Visitor(query, ada)
    visitor.go_on()
    visitor.query = authorization_query(client, code_challenge="x" * 43)

    assert visitor.decide("allow").status_code == 400


def test_nobody_goes_on_without_the_cookie_of_a_live_session(query, ada):
    """An access token lives for an hour; a grant would outlive it."""
    visitor = Visitor(query, ada)
    ada.sign_out(ada)

    assert visitor.go_on().status_code == 401
    visitor.browser.cookies.pop(REFRESH_COOKIE)
    assert visitor.go_on().status_code == 401
    visitor.browser.cookies[REFRESH_COOKIE] = str(issue_pair(User.objects.get(pk=ada.pk))[0])
    assert visitor.go_on().status_code == 401


def test_change_between_session_and_decision_is_refused(query, ada):
    visitor = Visitor(query, ada)
    visitor.go_on()
    with_app(ada)

    assert visitor.decide("allow").status_code == 400


def test_session_counts_as_a_credential_call(query, ada, settings):
    visitor = Visitor(query, ada)
    settings.RATE_LIMIT_CREDENTIAL = 0

    assert visitor.go_on().status_code == 429


def test_grant_ends_with_the_session_it_is_from(query, ada, api, client, time_machine):
    begun = int(time.time()) - settings.SESSION_MAX_SECONDS + 600
    pair = connect(Visitor(query, ada, auth_time=begun), api, client)

    assert pair["expires_in"] <= 600
    assert api.get("/auth/grants").status_code == 401
    pair = refresh(api, client, pair["refresh_token"]).json()
    time_machine.move_to(timezone.now() + timedelta(seconds=601))
    assert refresh(api, client, pair["refresh_token"]).status_code == 400
    assert not Grant.objects.live().exists()


def test_user_of_a_provider_connects_until_the_session_there_ends(
    query, ada, api, client, provider_row, time_machine
):
    visitor = Visitor(query, User.objects.get(pk=ada.pk), ["sso"])

    pair = connect(visitor, api, client)

    grant = Grant.objects.live().get()
    assert grant.expires_at - grant.created_at <= timedelta(seconds=settings.SSO_SESSION_SECONDS)
    assert can_call(app_with(pair))
    time_machine.move_to(timezone.now() + timedelta(seconds=settings.SSO_SESSION_SECONDS))
    assert refresh(api, client, pair["refresh_token"]).status_code == 400
    assert not Grant.objects.live().exists()


@pytest.mark.parametrize("end", [
    lambda provider, user: provider.change_switches(user, active=False),
    lambda provider, user: IdentityProvider.objects.configure(
        user, issuer=provider.issuer, client_id="another", client_secret="s"
    ),
    lambda provider, user: provider.remove(user),
], ids=["switch", "another client", "removal"])  # fmt: skip
def test_grant_ends_when_sessions_of_the_provider_do(query, ada, api, client, provider_row, end):
    pair = connect(Visitor(query, User.objects.get(pk=ada.pk), ["sso"]), api, client)

    end(provider_row, ada)

    assert not can_call(app_with(pair))
    assert refresh(api, client, pair["refresh_token"]).status_code == 400
    assert not Grant.objects.live().exists()


def test_session_by_password_can_t_go_on_where_the_provider_is_required(
    query, ada, provider_row, client
):
    visitor = Visitor(query, ada)
    assert visitor.go_on().status_code == 401

    page = visitor.sign_in(ada.email)

    assert page.status_code == 401
    assert "sign in with their company account" in page.content.decode()


def test_grant_from_a_password_is_not_live_where_the_provider_is_required(
    ada, client, pair, provider_row
):
    assert not Grant.objects.get().is_unended()
    assert not Grant.objects.live().exists()


def test_user_ends_a_grant_that_the_required_provider_suspends(ada, pair, provider_row):
    access, _ = issue_pair(User.objects.get(pk=ada.pk), None, ["sso"])
    as_ada = API(authorization=f"Bearer {access}")
    assert as_ada.get("/auth/grants").json()["items"] == []

    assert as_ada.delete(f"/auth/grants/{Grant.objects.get().pk}").status_code == 204

    IdentityProvider.objects.update(required=False)
    assert not can_call(app_with(pair))


def test_page_says_the_same_of_every_address_of_a_domain(query, ada, provider_row):
    pages = [
        re.sub(r'value="[^"]*"', "", person.sign_in(email, "a wrong one").content.decode())
        for person, email in ((Person(query), ada.email), (Person(query), "no.one@example.com"))
    ]

    assert pages[0] == pages[1]


def test_passkey_alone_signs_in(query, ada):
    key = with_passkey(ada)
    person = Person(query)
    person.browser.defaults["HTTP_HOST"] = "localhost:8000"
    person.page = person.browser.get("/oauth/authorize", query)
    page = person.page.content.decode()
    options = re.search(r'data-passkey="([^"]*)"', page)[1]
    passkey = json.dumps(key.sign(json.loads(unescape(options))))

    assert person.post({"passkey": passkey}).status_code == 200
    assert person.allow()
    page = Person(query).post({"passkey": passkey})  # used up
    assert page.status_code == 401
    assert "accepted" in page.content.decode()


def test_page_leads_to_a_front_end_elsewhere(query, settings, ada):
    settings.SERVES_PAGES, settings.FRONTEND_URL = False, "https://app.example.com"

    page = Person(query).page.content.decode()

    assert 'href="https://app.example.com" target="_blank" rel="noopener"' in page
