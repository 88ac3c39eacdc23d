"""Companies that require a second factor, and enrolment of their users without one."""

import pytest
import time_machine
from django.core.exceptions import PermissionDenied

from accounts.models import Account, User
from assistants.models import Client, Grant
from audit.models import AuditEvent, Kind
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from signin import credentials
from signin.browsers import BROWSER_COOKIE
from signin.factors.models import Factors
from tests.cast import PASSWORD
from tests.clients import API
from tests.mailbox import mailed
from tests.signin.factors.helpers import (
    PASSWORD_FIELD,
    amr_of,
    begin_app,
    begin_passkey,
    code,
    log_in,
    with_app,
    wrong_code,
)
from tests.throttling.helpers import fail

pytestmark = pytest.mark.django_db

NOT_SIGNED_IN = {"error": "missing or invalid token"}


@pytest.fixture
def required(ada, bob):
    """Ada's company requires a second factor. She has one, Bob has none."""
    with_app(ada)
    Account.objects.filter(pk=ada.account_id).update(second_factor="required")


def enrolment(api, user):
    """A client with the enrolment token of the user's log-in."""
    status, body = log_in(api, user)
    assert (status, body["error"]) == (401, "second factor must be set up")
    assert body.keys() == {"error", "enrolment"}
    assert "service_refresh" not in api.cookies
    return API(authorization=f"Bearer {body['enrolment']}")


def add_app(enrolled):
    return enrolled.post("/auth/factors/totp/confirm", begin_app(enrolled, {})[1])


def test_adding_the_first_factor_by_an_enrolment_signs_in(api, bob, required):
    enrolled = enrolment(api, bob)

    answer = add_app(enrolled)

    body = answer.json()
    assert (answer.status_code, len(body["recovery_codes"])) == (200, 10)
    assert amr_of(body["session"]) == [["pwd", "otp", "mfa"]] * 2
    assert enrolled.cookies["service_refresh"].value == body["session"]["refresh_token"]
    assert BROWSER_COOKIE in enrolled.cookies
    me = API(authorization=f"Bearer {body['session']['access_token']}").get("/auth/me")
    assert me.json()["email"] == bob.email
    assert AuditEvent.objects.filter(kind=Kind.LOGIN_SUCCEEDED, actor_id=bob.pk).count() == 1


def test_enrolment_clears_earlier_failures(api, bob, required):
    fail(3, bob.email)
    assert add_app(enrolment(api, bob)).status_code == 200
    fail(3, bob.email)

    assert log_in(api, bob)[1]["error"] == "second factor required"


def test_enrolment_opens_no_call_but_those_that_add_a_factor(api, bob, required):
    enrolled = enrolment(api, bob)
    closed_calls = [("get", "/auth/me"), ("get", "/auth/factors"), ("get", "/account")]
    closed_calls += [("post", "/auth/recovery-codes"), ("post", "/auth/logout"), ("post", "/mcp")]
    closed_calls += [
        ("patch", f"/auth/factors/{bob.pk}"),
        ("post", f"/auth/factors/{bob.pk}/remove"),
    ]

    answers = [getattr(enrolled, method)(path) for method, path in closed_calls]

    assert {answer.status_code for answer in answers} == {401}


def test_enrolment_ends_with_the_first_factor(api, bob, required):
    enrolled = enrolment(api, bob)
    passkey = begin_passkey(enrolled, {})
    assert add_app(enrolled).status_code == 200

    second = enrolled.post("/auth/factors/passkeys", passkey)

    assert (second.status_code, second.json()) == (401, NOT_SIGNED_IN)
    assert enrolled.post("/auth/factors/totp", {}).status_code == 401


@pytest.mark.parametrize("end", ["password", "deactivated", "forged"])
def test_enrolment_ends_with_the_sessions(api, bob, required, end):
    enrolled = enrolment(api, bob)
    if end == "forged":
        enrolled.headers["authorization"] += "x"
    else:
        changes = {"password": {"token_version": 99}, "deactivated": {"is_active": False}}[end]
        User.objects.filter(pk=bob.pk).update(**changes)

    assert enrolled.post("/auth/factors/totp", {}).status_code == 401


def test_enrolment_is_valid_for_ten_minutes(api, bob, required):
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        enrolled = enrolment(api, bob)
        clock.shift(599)
        assert enrolled.post("/auth/factors/totp", {}).status_code == 201
        clock.shift(2)

        assert enrolled.post("/auth/factors/totp", {}).status_code == 401


def test_enrolment_is_refused_once_the_address_is_locked(api, bob, required):
    enrolled = enrolment(api, bob)
    fail(5, bob.email)

    assert add_app(enrolled).status_code == 429
    assert AuditEvent.objects.get(kind=Kind.LOGIN_LOCKED).subject == bob.email
    assert not Factors.objects.filter(user=bob).exists()


@pytest.mark.parametrize("has_factor", [False, True])
def test_right_password_tells_nothing_once_the_address_is_locked(
    api, ada, bob, required, monkeypatch, has_factor
):
    user, check_password = ada if has_factor else bob, credentials.check_password

    def check_slowly(*args):
        fail(5, user.email)
        return check_password(*args)

    monkeypatch.setattr(credentials, "check_password", check_slowly)

    status, body = log_in(api, user)

    assert (status, set(body)) == (429, {"error"})


def test_invited_user_sets_a_factor_up_after_accepting(api, ada, required):
    Invitation.objects.invite(ada, "new@example.com")
    mailed()
    token = Invitation.objects.get().token
    body = {"token": token, "first_name": "N", "last_name": "E", "password": PASSWORD}

    answer = api.post("/invitations/accept", body)

    body = answer.json()
    assert (answer.status_code, body["error"]) == (401, "second factor must be set up")
    assert User.objects.filter(email="new@example.com").exists()
    assert add_app(API(authorization=f"Bearer {body['enrolment']}")).json()["session"]


@pytest.fixture
def link(ada):
    return PasswordChange.objects.make_link(ada)


NEW_PASSWORD = "a new password"


def redeem(api, link, **factor):
    return api.post(
        "/password-changes/redeem", {"token": link.token, "password": NEW_PASSWORD} | factor
    )


def test_password_link_is_used_before_a_factor_is_set_up(api, bob, required):
    link = PasswordChange.objects.make_link(bob)

    answer = redeem(api, link)

    assert (answer.status_code, answer.json()["error"]) == (401, "second factor must be set up")
    assert redeem(api, link).status_code == 400
    assert log_in(api, bob)[0] == 401
    assert OutgoingMail.objects.filter(email=bob.email, kind="notice.password_changed").exists()
    enrolled = API(authorization=f"Bearer {answer.json()['enrolment']}")
    assert add_app(enrolled).json()["session"]


def test_password_link_with_a_code_changes_the_password(api, ada, link):
    with_app(ada)
    assert redeem(api, link).json()["methods"] == ["totp", "recovery_code"]
    assert redeem(api, link, code=wrong_code()).json()["error"] == "wrong code"
    assert log_in(api, ada)[1]["error"] == "second factor required"  # by the old password

    answer = redeem(api, link, code=code())

    assert (answer.status_code, amr_of(answer.json())) == (200, [["pwd", "otp", "mfa"]] * 2)
    assert log_in(api, ada, NEW_PASSWORD, code=code(1))[0] == 200


def test_wrong_codes_beside_a_password_link_lock_the_address(api, ada, link):
    with_app(ada)
    for _ in range(5):
        redeem(api, link, code=wrong_code())

    assert redeem(api, link, code=code()).status_code == 429
    assert Factors.objects.get().wrong_codes == 5


def require(api, rule="required"):
    return api.patch("/account", {"second_factor": rule})


def test_admin_without_a_factor_cannot_require_one(as_ada):
    answer = require(as_ada)

    refusal = answer.status_code, answer.json()["error"]
    assert refusal == (409, "set up a second factor yourself first")
    assert as_ada.get("/account").json()["second_factor"] == "optional"


def test_requiring_a_factor_ends_sessions_and_grants_of_users_without_one(
    as_ada, as_bob, as_eve, ada, bob, api
):
    with_app(ada)
    client = Client.objects.create(name="A", redirect_uris=["http://127.0.0.1/"])
    consent = {"client": client, "redirect_uri": "http://127.0.0.1/", "code_challenge": ""}
    for user in (ada, bob):
        Grant.objects.create(user=user, token_version=user.token_version, **consent)

    answer = require(as_ada)

    assert (answer.status_code, answer.json()["second_factor"]) == (200, "required")
    statuses = [client.get("/auth/me").status_code for client in (as_ada, as_bob, as_eve)]
    assert statuses == [200, 401, 200]
    live = {grant.user: grant.is_unended() for grant in Grant.objects.all()}
    assert live == {ada: True, bob: False}
    assert AuditEvent.objects.get(kind=Kind.COMPANY_CHANGED).detail == {"second_factor": "required"}
    assert log_in(api, bob)[1]["error"] == "second factor must be set up"


def test_required_factor_can_become_optional(as_ada, ada, bob, api):
    with_app(ada)
    require(as_ada)

    assert require(as_ada, "optional").status_code == 200
    assert log_in(api, bob)[0] == 200


def test_last_factor_cannot_be_removed_while_one_is_required(as_ada, ada, required):
    factor = Factors.objects.get().totp_id

    answer = as_ada.post(f"/auth/factors/{factor}/remove", PASSWORD_FIELD | {"code": code()})

    refusal = answer.status_code, answer.json()["error"]
    assert refusal == (409, "your company requires a second factor")
    assert as_ada.get("/auth/factors").json()["required"] is True


def test_admin_resets_another_users_factors(as_ada, as_bob, api, ada, bob):
    with_app(bob)

    assert as_ada.delete(f"/users/{bob.pk}/factors").status_code == 204
    assert as_bob.get("/auth/me").status_code == 401
    assert mailed().to == [bob.email]
    assert log_in(api, bob)[0] == 200
    assert AuditEvent.objects.get(kind=Kind.FACTORS_RESET).subject == bob.email


def test_admin_cannot_reset_their_own_factors(as_ada, ada):
    answer = as_ada.delete(f"/users/{ada.pk}/factors")

    assert (answer.status_code, answer.json()) == (409, {"error": "use your own account page"})


def test_rule_of_the_operators_company_is_changed_by_superusers_alone(operator, new_user):
    company = Account.objects.get_or_create_operators()

    with pytest.raises(PermissionDenied):
        company.change_second_factor(new_user(is_staff=True), "optional")
