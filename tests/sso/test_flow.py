"""A sign-in at a provider, from the address to the session: ticket, cookie and code."""

import time
from urllib.parse import urlencode

import jwt
import pytest
from django.utils import timezone

from accounts.models import Account, User
from accounts.tokens import issue_pair
from audit.actors import COMMAND
from audit.models import AuditEvent
from base.nonces import UsedNonce
from signin.devices import Device
from sso.models import IdentityProvider
from tests.cast import PASSWORD
from tests.clients import API, TOO_MANY_ATTEMPTS, bearer
from tests.sso.conftest import Browser, connect, fragment, url_of_test
from tests.sso.helpers import patch_provider, put_provider, query_of
from tests.sso.provider import CLIENT, SECRET, without
from throttling.models import Lockout

pytestmark = pytest.mark.django_db
NONE = {"company": None, "url": None, "required": False}
EXPIRED = {"error": "expired"}
INVALID_CODE = 400, {"error": "invalid or expired code"}


def answered(response):
    return response.status_code, response.json()


def test_first_sign_in(browser, provider, connection, ada):
    discovery = browser.find()
    assert (discovery["company"], discovery["required"]) == ("Analytical Engines", False)
    start = f"http://127.0.0.1:8000/auth/sso/{connection.pk}/start?ticket="
    assert discovery["url"].startswith(start)

    location = browser.start(discovery["url"])
    query = query_of(location)
    assert location.startswith(f"{provider.issuer}/auth?")
    assert query["redirect_uri"] == f"http://127.0.0.1:8000/auth/sso/{connection.pk}/callback"
    assert query["scope"].split() == ["openid", "email", "profile"]
    assert (query["response_type"], query["login_hint"]) == ("code", "ada@example.com")
    cookie = browser.api.cookies["service_sso"]
    assert (cookie["path"], cookie["samesite"]) == (f"/auth/sso/{connection.pk}", "Lax")
    assert cookie["httponly"] is cookie["secure"] is True
    assert cookie["max-age"] == 600
    assert query["state"] not in cookie.value

    end = browser.bring_answer(location, provider.approve(location, email=ada.email))
    assert browser.api.cookies["service_sso"].value == ""
    assert provider.asked == {"/token": 1}
    answer = browser.redeem(end["code"])
    assert answer.status_code == 200
    assert answer.json()["user"]["id"] == str(ada.pk)
    assert "x-ratelimit-remaining" in answer.headers
    assert browser.api.cookies["service_refresh"]["path"] == "/auth"
    session = API(authorization=f"Bearer {answer.json()['access_token']}")
    assert session.get("/auth/me").json()["email"] == ada.email
    kinds = AuditEvent.objects.order_by("pk").values_list("kind", "actor_id")
    assert [*kinds] == [("sso.linked", ada.pk), ("login.succeeded", ada.pk)]
    assert AuditEvent.objects.first().detail == {"method": "sso"}


def test_session_of_the_provider_expires_and_its_amr_names_sso(
    browser, ada, settings, time_machine
):
    time_machine.move_to(int(time.time()))
    settings.SSO_SESSION_SECONDS = 1800
    pair = browser.sign_in(email=ada.email).json()
    assert browser.api.cookies["service_refresh"]["max-age"] == 1800
    time_machine.shift(900)
    pair = browser.api.post("/auth/refresh").json()

    for name in ("access_token", "refresh_token"):
        claims = jwt.decode(pair[name], options={"verify_signature": False})
        assert claims["amr"] == ["sso"]
        assert claims["exp"] - claims["auth_time"] == 1800
    settings.SSO_SESSION_SECONDS = 600  # was lowered
    body = {"refresh_token": pair["refresh_token"]}
    assert API().post("/auth/refresh", body).status_code == 401
    settings.SSO_SESSION_SECONDS = 1800
    time_machine.shift(901)
    assert API().post("/auth/refresh", body).status_code == 401


def test_provider_is_found_by_the_domain_alone(browser, costs, ada):
    registered, unknown = (browser.find(email) for email in ("ada@example.com", "xyz@example.com"))

    assert [registered.pop("url")[:60], len(registered)] == [unknown.pop("url")[:60], 2]
    assert registered == unknown
    assert browser.find("ada@example.org") == NONE
    body = {"email": "xyz@example.com", "challenge": browser.challenge}
    assert costs(lambda: API().post("/auth/sso", body)) == (200, 1, 1)
    ada.account.domains.update(proved_at=None)
    assert browser.find() == NONE


def test_provider_of_the_operators_company_is_not_offered(browser, ada):
    """A superuser can set one up, but it signs no operator in."""
    Account.objects.filter(pk=ada.account_id).update(is_operators=True)
    IdentityProvider.objects.update(required=True)

    assert browser.find() == NONE
    assert IdentityProvider.objects.find_required_for("new@example.com") is None


@pytest.mark.parametrize("state", [
    {"active": False}, {"active": False, "stopped_at": timezone.now()},
])  # fmt: skip
def test_switched_off_provider_signs_no_user_in(browser, provider, ada, connection, state):
    url = browser.find()["url"]
    location = browser.start(url)
    code = browser.visit(email=ada.email)["code"]
    other_browser = Browser(provider)
    other_location = other_browser.start(url)
    IdentityProvider.objects.update(**state)

    assert browser.find() == NONE
    assert "#error=switched_off" in browser.start(url)
    answer = provider.approve(other_location, email=ada.email)
    assert other_browser.bring_answer(location, answer) == {"error": "switched_off"}
    assert answered(browser.redeem(code)) == INVALID_CODE


@pytest.mark.parametrize("body", [
    {"email": "ada@example.com"},
    {"email": "ada@example.com", "challenge": "a" * 42},
    {"email": "ada@example.com", "challenge": "+" * 43},
    {"email": "ada", "challenge": "a" * 43},
])  # fmt: skip
def test_invalid_request_for_a_provider_is_refused(api, db, body):
    assert api.post("/auth/sso", body).status_code == 400


def test_providers_answer_works_only_in_the_browser_that_began(browser, provider, ada):
    location = browser.start()
    answer = provider.approve(location, email=ada.email)
    other_browser = Browser(provider)

    assert other_browser.bring_answer(location, answer) == EXPIRED
    other_browser.start()
    assert other_browser.bring_answer(location, answer) == EXPIRED  # another state
    assert provider.asked["/token"] == 0
    assert "code" in browser.bring_answer(location, answer)


@pytest.mark.parametrize("state", ["", "a" * 32, "ä", ...])
def test_wrong_state_is_refused_and_uses_no_attempt_up(browser, provider, ada, state):
    location = browser.start()
    answer = provider.approve(location, email=ada.email)

    changed = {
        name: value for name, value in (answer | {"state": state}).items() if value is not ...
    }
    assert browser.bring_answer(location, changed) == EXPIRED
    assert provider.asked["/token"] == 0
    assert "code" in browser.bring_answer(location, answer)


def test_tabs_of_a_browser_sign_in_side_by_side(browser, provider, ada):
    locations = [browser.start() for _ in range(4)]
    answers = [provider.approve(location, email=ada.email) for location in locations]

    for location, answer in [*zip(locations, answers, strict=True)][1:]:
        assert "code" in browser.bring_answer(location, answer)
    cookies = {name: cookie for name, cookie in browser.api.cookies.items() if "sso" in name}
    assert {cookie.value for cookie in cookies.values()} == {""}
    assert {cookie["path"] for cookie in cookies.values()} == {f"/auth/sso/{ada.account_id}"}
    assert browser.bring_answer(locations[0], answers[0]) == EXPIRED  # the oldest of four


def test_failed_callbacks_count_as_credential_calls(browser, provider, connection, ada, settings):
    settings.RATE_LIMIT_CREDENTIAL = 3
    location = browser.start()
    answer = provider.approve(location, email="someone@example.org")
    path = f"/auth/sso/{connection.pk}/callback"
    other_browser = Browser(provider)

    assert browser.bring_answer(location, answer | {"state": "x"}) == EXPIRED
    assert fragment(other_browser.api.get(f"{path}?state=x")) == EXPIRED  # without a cookie
    assert browser.bring_answer(location, answer | {"state": "y"}) == EXPIRED
    assert browser.visit(email="a@example.org") == {}
    assert answered(browser.response) == (429, TOO_MANY_ATTEMPTS)
    assert browser.response["Retry-After"]
    assert not [name for name in browser.response.headers if name.lower().startswith("x-ratelimit")]
    assert answered(API().post("/auth/login", {"email": "a@b.example", "password": "x"}))[0] == 429
    assert not AuditEvent.objects.exists()
    assert "code" in browser.visit(email=ada.email)


@pytest.mark.parametrize("is_pruned", [False, True])
def test_providers_answer_works_once_whatever_clock_a_host_has(
    browser, provider, ada, time_machine, is_pruned
):
    time_machine.move_to(int(time.time()))
    location = browser.start()
    cookie = browser.api.cookies["service_sso"].value
    answer = provider.approve(location, email=ada.email)
    assert "code" in browser.bring_answer(location, answer)
    if is_pruned:
        time_machine.shift(660)
        UsedNonce.objects.prune_expired()  # by a host whose clock is right
        time_machine.shift(-120)  # on another one
    browser.api.cookies["service_sso"] = cookie
    provider.codes[answer["code"]] = query_of(location), {"sub": "1", "email": ada.email}

    assert browser.bring_answer(location, answer) == EXPIRED
    assert provider.asked["/token"] == 1


def test_ticket_and_attempt_expire_after_ten_minutes(browser, provider, ada, time_machine):
    time_machine.move_to(int(time.time()))
    url = browser.find()["url"]
    location = browser.start(url)
    time_machine.shift(601)

    assert browser.bring_answer(location, provider.approve(location, email=ada.email)) == EXPIRED
    assert browser.start(url).endswith("/sso#error=expired")


def test_ticket_of_another_provider_is_refused(browser, provider, connection, eve):
    other_provider = connect(eve.account, provider, "example.org")
    url = browser.find()["url"]
    foreign = url.replace(str(connection.pk), str(other_provider.pk))
    assert browser.start(foreign).endswith("/sso#error=expired")

    location = browser.start(url)
    answer = provider.approve(location, email="eve@example.org")
    foreign = location.replace(str(connection.pk), str(other_provider.pk))
    assert browser.bring_answer(foreign, answer) == EXPIRED
    assert provider.asked["/token"] == 0


def test_removed_provider_ends_the_sign_in_at_the_front_end(browser, provider, connection):
    url = browser.find()["url"]
    location = browser.start(url)
    connection.delete()

    assert browser.start(url).endswith("/sso#error=switched_off")
    assert browser.bring_answer(location, provider.approve(location)) == {"error": "switched_off"}


def test_tab_that_has_finished_takes_no_other_tab_s_place(browser, provider, ada):
    first, second, third = [browser.start() for _ in range(3)]
    assert "code" in browser.bring_answer(third, provider.approve(third, email=ada.email))
    fourth = browser.start()

    for location in (first, second, fourth):
        answer = provider.approve(location, email=ada.email)
        assert "code" in browser.bring_answer(location, answer)


@pytest.mark.parametrize("ticket", ["", "?ticket=", "?ticket=x", "?ticket=%C3%A4", "?ticket=%00"])
def test_invalid_ticket_ends_at_the_front_end(api, connection, ticket):
    answer = api.get(f"/auth/sso/{connection.pk}/start{ticket}")

    assert (answer.status_code, fragment(answer)) == (302, EXPIRED)
    assert "service_sso" not in api.cookies


@pytest.mark.parametrize(("answer", "word", "calls"), [
    ({}, "denied", 0),
    ({"error": "access_denied"}, "denied", 0),
    ({"error": "Dear admins, call us"}, "denied", 0),
    ({"error": "invalid_scope"}, "provider", 0),
    ({"code": "made up", "iss": "https://login.example.org"}, "provider", 0),
    ({"code": "made up"}, "expired", 1),
])  # fmt: skip
def test_answers_that_anyone_can_send_are_only_counted(
    browser, provider, connection, answer, word, calls
):
    location = browser.start()
    state = query_of(location)["state"]

    assert browser.bring_answer(location, answer | {"state": state}) == {"error": word}
    assert browser.bring_answer(location, answer | {"state": state}) == EXPIRED
    assert provider.asked["/token"] == calls
    assert not AuditEvent.objects.exists()
    connection.refresh_from_db()
    assert (connection.last_problem, connection.failing_since) == ("", None)


def test_head_request_uses_no_ticket_or_answer_up(browser, provider, ada):
    url = browser.find()["url"]
    assert browser.api.call("head", url).status_code == 200
    location = browser.start(url)
    answer = provider.approve(location, email=ada.email)

    assert browser.bring_answer(location, answer, method="head") == {}
    assert browser.response.status_code == 200
    assert "code" in browser.bring_answer(location, answer)


@pytest.mark.parametrize("headers", [
    {"Sec-Purpose": "prefetch"}, {"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"},
])  # fmt: skip
def test_prefetch_uses_no_ticket_or_answer_up(browser, provider, ada, headers):
    url = browser.find()["url"]
    assert browser.api.get(url, headers=headers).status_code == 403
    location = browser.start(url)
    answer = provider.approve(location, email=ada.email)
    callback = f"{query_of(location)['redirect_uri']}?{urlencode(answer)}"

    assert browser.api.get(callback, headers=headers).status_code == 403
    assert "code" in browser.bring_answer(location, answer)


def test_handover_code_works_once_with_its_verifier(browser, ada):
    code = browser.visit(email=ada.email)["code"]

    assert answered(browser.redeem(code, "another verifier")) == INVALID_CODE
    assert answered(browser.redeem(code[:-2] + "AA")) == INVALID_CODE
    assert answered(browser.redeem("ä")) == INVALID_CODE
    assert browser.redeem(code).status_code == 200
    assert answered(browser.redeem(code)) == INVALID_CODE
    assert AuditEvent.objects.filter(kind="login.succeeded").count() == 1


def test_handover_code_expires_after_a_minute(browser, ada, time_machine):
    time_machine.move_to(int(time.time()))
    code = browser.visit(email=ada.email)["code"]
    time_machine.shift(61)

    assert answered(browser.redeem(code)) == INVALID_CODE


@pytest.mark.parametrize("end", [
    lambda ada: bearer(ada).post("/auth/logout-everywhere"),
    lambda ada: User.objects.update(is_active=False),
    lambda ada: User.objects.update(is_staff=True),
    lambda ada: ada.identities.all().delete(),
])  # fmt: skip
def test_handover_code_ends_with_the_users_sessions(browser, ada, end):
    code = browser.visit(email=ada.email)["code"]
    end(ada)

    assert answered(browser.redeem(code)) == INVALID_CODE


def test_redeeming_a_handover_code_counts_as_a_credential_call(api, db, settings):
    settings.RATE_LIMIT_CREDENTIAL = 1
    body = {"code": "x", "verifier": "y"}

    assert answered(api.post("/auth/sso/redeem", body)) == INVALID_CODE
    assert answered(api.post("/auth/sso/redeem", body)) == (429, TOO_MANY_ATTEMPTS)
    assert api.post("/auth/sso", {}).status_code == 400  # not this one


def test_redeeming_a_handover_code_takes_nine_queries(browser, costs, ada):
    code = browser.visit(email=ada.email)["code"]

    assert costs(lambda: browser.redeem(code)) == (200, 9, 1)


def test_lockout_and_second_factor_rule_do_not_stop_a_sign_in_at_the_provider(
    browser, ada, settings
):
    for _ in range(settings.LOCKOUT_THRESHOLD):
        API().post("/auth/login", {"email": ada.email, "password": "wrong one"})
    assert Lockout.objects.is_locked(ada.email)
    ada.account.second_factor = "required"
    ada.account.save()

    assert browser.sign_in(email=ada.email).status_code == 200


def test_browser_that_signs_in_at_the_provider_becomes_a_known_device(browser, ada, settings):
    settings.DEVICE_LOCKOUT = True

    assert browser.sign_in(email=ada.email).status_code == 200
    assert Device.objects.get().user == ada
    assert browser.api.cookies["service_device"].value


def test_test_makes_the_provider_usable_and_signs_no_user_in(browser, connection, ada):
    IdentityProvider.objects.update(active=False, tested_at=None)
    last = User.objects.get(pk=ada.pk).last_sign_in_at

    end = browser.visit(url_of_test(ada), email="someone@example.org")

    assert end == {"tested": "true"}
    connection.refresh_from_db()
    assert connection.tested_at
    assert connection.identities.count() == 0
    assert User.objects.get(pk=ada.pk).last_sign_in_at == last
    assert AuditEvent.objects.get(kind="sso.tested").actor_id == ada.pk


def test_ticket_of_a_test_works_once(browser, ada, connection):
    """An admin without a proved domain could redirect others from the service's host."""
    url = url_of_test(ada)

    assert browser.api.call("head", url).status_code == 200
    assert browser.start(url).startswith(f"{connection.issuer}/auth?")
    assert browser.start(url).endswith("/sso#error=expired")
    assert Browser(browser.provider).start(url).endswith("/sso#error=expired")


@pytest.mark.parametrize(("claims", "answer", "problem"), [
    ({"email_verified": False}, {}, "unverified"),
    ({"aud": "another client"}, {}, "ID token: InvalidAudienceError"),
    ({}, {"iss": "https://login.example.org"}, "iss"),
    ({}, {"code": ..., "error": "invalid_scope"}, "answer: invalid_scope"),
])  # fmt: skip
def test_failed_test_leaves_the_provider_untested(
    browser, provider, connection, ada, claims, answer, problem
):
    IdentityProvider.objects.update(active=False, tested_at=None)
    provider.claims = claims
    location = browser.start(url_of_test(ada))

    answer = without(provider.approve(location, email=ada.email) | answer)
    assert browser.bring_answer(location, answer)["error"] in {"provider", "unverified"}
    connection.refresh_from_db()
    assert (connection.tested_at, connection.last_problem) == (None, problem)


def test_test_counts_for_the_settings_that_it_was_made_with(browser, connection, ada, meanwhile):
    IdentityProvider.objects.update(active=False, tested_at=None)
    meanwhile(lambda: IdentityProvider.objects.update(configured_at=timezone.now()))

    assert browser.visit(url_of_test(ada), email=ada.email) == EXPIRED
    connection.refresh_from_db()
    assert connection.tested_at is None


# ---- What ends the sessions that began at the provider -------------------------------------------


def is_alive(pair):
    session = API(authorization=f"Bearer {pair['access_token']}")
    body = {"refresh_token": pair["refresh_token"]}
    answers = session.get("/auth/me").status_code, API().post("/auth/refresh", body).status_code
    assert answers in {(200, 200), (401, 401)}
    return answers == (200, 200)


ENDS = {
    "removed": lambda ada, provider, connection: connection.remove(ada),
    "stopped": lambda ada, provider, connection: connection.stop(COMMAND),
    "switched off": lambda ada, *_: patch_provider(ada, active=False),
    "replaced": lambda ada, provider, _: put_provider(ada, provider, client_id="another"),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_sessions_of_a_provider_end_with_it(browser, provider, ada, bob, connection, end):
    pairs = [browser.sign_in(email=bob.email).json()]
    pairs.append(browser.api.post("/auth/refresh").json())
    by_password = API().post("/auth/login", {"email": bob.email, "password": PASSWORD}).json()
    code = browser.visit(email=bob.email)["code"]

    end(ada, provider, connection)

    assert not any(map(is_alive, pairs))
    assert is_alive(by_password)
    assert answered(browser.redeem(code)) == INVALID_CODE
    # They count for no later provider of the company, and stay ended with the same one.
    IdentityProvider.objects.all().delete()
    IdentityProvider.objects.configure(
        ada, issuer=provider.issuer, client_id=CLIENT, client_secret=SECRET
    )
    IdentityProvider.objects.update(tested_at=timezone.now(), active=True, required=True)
    assert not any(map(is_alive, pairs))
    assert is_alive(browser.sign_in(email=bob.email).json())


def test_sessions_end_for_good_where_the_same_provider_is_switched_on_again(browser, ada, bob):
    pair = browser.sign_in(email=bob.email).json()
    for active in (False, True):
        assert patch_provider(ada, active=active).status_code == 200

    assert not is_alive(pair)
    assert is_alive(browser.sign_in(email=bob.email).json())


def test_sessions_survive_a_new_client_secret(browser, provider, ada, bob):
    pair = browser.sign_in(email=bob.email).json()
    assert put_provider(ada, provider, client_secret="another").json()["active"] is False
    assert patch_provider(ada, creates_users=False).status_code == 200

    assert is_alive(pair)


def test_sessions_of_the_release_before_go_on_until_the_provider_ends(browser, bob, connection):
    """Tokens of that release don't say at which provider the session began."""
    pair = dict(zip(("access_token", "refresh_token"), issue_pair(bob, amr=["sso"]), strict=True))
    for token in pair.values():
        del token.payload["provider"]
    pair = {name: str(token) for name, token in pair.items()}
    assert is_alive(pair)
    body = {"refresh_token": pair["refresh_token"]}
    pairs = [pair, API().post("/auth/refresh", body).json()]

    connection.stop(COMMAND)

    assert not any(map(is_alive, pairs))
