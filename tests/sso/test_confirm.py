"""Re-authentication at the company's provider, for users who have no password."""

import json
import time
from functools import partial

import pytest

from accounts.models import User
from audit.actors import COMMAND
from base.sealed import fernet_for
from mail.outbox import OutgoingMail
from sso.models import Domain, IdentityProvider
from tests.cast import PASSWORD
from tests.clients import API, TOO_MANY_ATTEMPTS, bearer
from tests.mailbox import mailed
from tests.races import race
from tests.signin.factors.helpers import code, with_app, wrong_code
from tests.sso.conftest import Browser
from tests.sso.helpers import PATH, make_break_glass_admin, outcome, query_of
from tests.sso.provider import CLIENT, SECRET
from throttling.models import Lockout

pytestmark = pytest.mark.django_db
WRONG = (403, "wrong password")
CHANGE = {"creates_users": False}


@pytest.fixture
def ann(new_user, ada, browser):
    """An admin who signs in at the provider, and has no password."""
    ann = new_user("ann@example.com", account=ada.account, role="admin")
    User.objects.filter(pk=ann.pk).update(password="!")
    ann.session = session_of(browser.sign_in(email=ann.email, sub="ann"))
    return ann


def session_of(answer):
    return API(authorization=f"Bearer {answer.json()['access_token']}")


def bring_answer(browser, ann, sub="ann", email="ann@example.com", **claims):
    """Sign in again; returns what stands after the # of the front-end's page."""
    location = browser.start(ann.session.post("/auth/sso/confirm").json()["url"])
    claims = {"email": email, "auth_time": int(time.time())} | claims
    return browser.bring_answer(location, browser.provider.approve(location, sub=sub, **claims))


@pytest.fixture
def proof(browser, ann):
    return bring_answer(browser, ann)["proof"]


def change(user, **proof):
    return user.session.patch(PATH, CHANGE | proof)


def test_user_signs_in_again_at_the_provider(browser, ann, connection):
    location = browser.start(ann.session.post("/auth/sso/confirm").json()["url"])
    query = query_of(location)
    assert (query["prompt"], query["max_age"]) == ("login", "30")
    assert query["login_hint"] == ann.email
    assert {"prompt", "max_age"}.isdisjoint(query_of(browser.start()))

    proof = bring_answer(browser, ann)["proof"]

    assert "service_refresh" not in browser.response.cookies
    assert change(ann, proof=proof).status_code == 200
    assert not IdentityProvider.objects.get().creates_users
    assert outcome(change(ann, proof=proof)) == WRONG  # used
    assert ann.session.get("/auth/me").status_code == 200


def replace_provider(ann):
    body = {"issuer": IdentityProvider.objects.get().issuer, "client_id": CLIENT}
    return "put", PATH, body | {"client_secret": SECRET}, 200


def renew_codes(ann):
    with_app(ann)
    return "post", "/auth/recovery-codes", {"code": code()}, 201


def remove_domain(ann):
    IdentityProvider.objects.update(required=True)
    return "delete", f"/account/domains/{Domain.objects.get().pk}", {}, 204


CALLS = {
    "replace the provider": replace_provider,
    "remove the provider": lambda ann: ("delete", PATH, {}, 204),
    "change the address": lambda ann: (
        "post", "/auth/email-changes", {"email": "ann@example.org"}, 200
    ),
    "add an app": lambda ann: ("post", "/auth/factors/totp", {}, 201),
    "renew the codes": renew_codes,
    "remove a domain": remove_domain,
}  # fmt: skip


@pytest.mark.parametrize("arrange", CALLS.values(), ids=CALLS)
def test_calls_that_need_a_password_take_the_proof(ann, proof, arrange):
    method, path, body, status = arrange(ann)
    call = partial(ann.session.call, method, path)

    neither = call(body)
    assert neither.status_code == 400
    assert neither.json()["fields"] == {"password": ["This field is required."]}
    assert outcome(call(body | {"password": PASSWORD})) == WRONG
    assert outcome(call(body | {"proof": "x"})) == WRONG
    assert outcome(call(body | {"proof": f"{proof[:-9]}AAAAAAA=="})) == WRONG
    assert call(body | {"proof": proof}).status_code == status


@pytest.mark.parametrize("auth_time", [..., 0, -60, 60, "1", True, None, 1.5])
def test_provider_must_say_that_the_user_has_just_signed_in(browser, ann, connection, auth_time):
    if type(auth_time) is int:
        auth_time = auth_time and int(time.time()) + auth_time

    assert bring_answer(browser, ann, auth_time=auth_time) == {"error": "provider"}

    assert IdentityProvider.objects.get().last_problem == "ID token: auth_time"


def test_provider_may_say_with_decimals_when_the_user_has_signed_in(browser, ann):
    assert "proof" in bring_answer(browser, ann, auth_time=time.time())


def test_another_user_cannot_reauthenticate_for_the_caller(browser, provider, ann, bob):
    bob.session = session_of(Browser(provider).sign_in(email=bob.email, sub="bob"))

    for sub, email in (("bob", bob.email), ("new", "new@example.com"), ("new", ann.email)):
        assert bring_answer(browser, ann, sub, email) == {"error": "other_user"}
    assert bring_answer(browser, ann, email="ann@example.org") == {"error": "domain"}
    assert not User.objects.filter(email="new@example.com").exists()
    body = {"password": "x", "proof": bring_answer(browser, ann)["proof"]}
    assert outcome(bob.session.post("/auth/factors/totp", body)) == WRONG
    assert ann.session.post("/auth/factors/totp", body).status_code == 201  # theirs, and unused


def test_reauthentication_proof_expires_after_five_minutes(ann, proof, time_machine):
    time_machine.move_to(time.time() + 301)

    assert outcome(change(ann, proof=proof)) == WRONG


def end_sessions(ann):
    User.objects.get(pk=ann.pk).sign_out(COMMAND)


def interrupt_provider(ann):
    connection = IdentityProvider.objects.get()
    connection.stop(COMMAND)
    connection.allow(COMMAND)
    IdentityProvider.objects.update(active=True)


@pytest.mark.parametrize("end", [end_sessions, interrupt_provider])
def test_reauthentication_proof_ends_with_the_session(browser, ann, proof, end):
    end(ann)
    ann.session = session_of(browser.sign_in(email=ann.email, sub="ann"))

    assert outcome(change(ann, proof=proof)) == WRONG


def test_sealed_values_work_for_one_purpose(browser, ann, proof):
    ticket = query_of(ann.session.post("/auth/sso/confirm").json()["url"])["ticket"]
    code = browser.visit(email=ann.email, sub="ann")["code"]

    assert browser.redeem(proof).status_code == 400
    for sealed_value in (ticket, code):
        assert outcome(change(ann, proof=sealed_value)) == WRONG
    # The ticket of a sign-in proves nothing about the user of another session.
    assert "proof" not in browser.visit(email=ann.email, sub="ann", auth_time=int(time.time()))


def test_reauthentication_at_the_provider_also_needs_the_second_factor(ann, proof):
    with_app(ann)

    assert outcome(change(ann, proof=proof)) == (403, "second factor required")
    assert outcome(change(ann, proof=proof, code=wrong_code())) == (403, "wrong code")
    assert Lockout.objects.get().failures == 1
    assert change(ann, proof=proof, code=code()).status_code == 200
    assert outcome(change(ann, proof=proof, code=code(1))) == WRONG
    assert not Lockout.objects.exists()


def test_locked_address_cannot_guess_codes_with_a_proof(ann, proof):
    with_app(ann)
    for _ in range(5):
        assert outcome(change(ann, proof=proof, code=wrong_code())) == (403, "wrong code")

    for factor_code in (wrong_code(), code()):
        answer = change(ann, proof=proof, code=factor_code)
        assert (answer.status_code, answer.json()) == (429, TOO_MANY_ATTEMPTS)


@pytest.mark.django_db(transaction=True)
def test_one_of_several_calls_at_once_uses_the_proof(ann, proof):
    answers = race(*[partial(change, ann, proof=proof)] * 8)

    assert sorted(answer.status_code for answer in answers) == [200] + [403] * 7


def test_users_who_never_signed_in_at_the_provider_cannot_reauthenticate_there(
    ann, bob, connection
):
    assert outcome(bearer(bob).post("/auth/sso/confirm")) == (404, "not found")
    assert API().post("/auth/sso/confirm").status_code == 401
    IdentityProvider.objects.update(active=False)
    assert outcome(ann.session.post("/auth/sso/confirm")) == (404, "not found")


def test_sign_ins_continue_at_a_host_of_the_release_before(browser):
    """Classes of sealed values of that release accept no other fields."""
    browser.start()
    ticket = query_of(browser.find()["url"])["ticket"]
    cookie = browser.api.cookies["service_sso"].value
    opened = [
        json.loads(fernet_for(purpose).decrypt(sealed.encode()))
        for purpose, sealed in (("sso.Ticket", ticket), ("sso.Attempt", cookie))
    ]

    assert opened[0].keys() == {"connection", "challenge", "nonce", "email"}
    fields = {"connection", "challenge", "nonce", "tester", "state", "verifier"}
    assert opened[1].keys() == fields


# ---- What undoes the requirement ---------------------------------------------------------------


def test_proved_domain_is_removed_after_re_authentication(ann, ada, connection):
    make_break_glass_admin(ada)
    domain = Domain.objects.get()
    unproved = Domain.objects.create(account=ada.account, name="unproved.example")
    IdentityProvider.objects.update(required=True)

    assert ann.session.delete(f"/account/domains/{unproved.pk}").status_code == 204
    assert ann.session.delete(f"/account/domains/{domain.pk}").status_code == 400
    call = "delete", f"/account/domains/{domain.pk}", {"password": PASSWORD}
    assert outcome(ann.session.call(*call)) == WRONG
    assert Domain.objects.get() == domain
    assert bearer(ada).call(*call).status_code == 204


def test_domain_is_removed_at_once_while_the_provider_is_optional(ann, connection):
    domain = Domain.objects.get()

    assert ann.session.delete(f"/account/domains/{domain.pk}").status_code == 204


def test_admin_keeps_a_password_after_re_authentication(browser, ann, ada, bob, connection):
    make_break_glass_admin(ada)
    for user, encoded in ((ann, bob.password), (bob, bob.password)):
        rights = {"role": "admin", "has_second_factor": True, "password": encoded}
        User.objects.filter(pk=user.pk).update(**rights)
    IdentityProvider.objects.update(required=True)
    own_path, path_of_bob = f"/users/{ann.pk}", f"/users/{bob.pk}"

    assert ann.session.patch(own_path, {"keeps_password": True}).status_code == 400
    assert outcome(ann.session.patch(own_path, {"keeps_password": True, "password": "x"})) == WRONG
    assert not User.objects.get(pk=ann.pk).keeps_password
    assert ann.session.patch(path_of_bob, {"keeps_password": True}).status_code == 200
    body = {"keeps_password": True, "proof": bring_answer(browser, ann)["proof"]}
    assert ann.session.patch(own_path, body).json()["keeps_password"] is True
    assert ann.session.patch(own_path, {"keeps_password": False}).status_code == 200


def test_reauthentications_count_as_credential_calls(ann, ada, settings, connection):
    settings.RATE_LIMIT_CREDENTIAL = 3  # one for the sign-in
    IdentityProvider.objects.update(required=True)
    path, body = f"/account/domains/{Domain.objects.get().pk}", {"password": "x"}

    answers = [ann.session.call("delete", path, body) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [403, 403, 429]
    assert answers[2].json() == TOO_MANY_ATTEMPTS
    assert ann.session.get("/account/domains").status_code == 200


@pytest.mark.parametrize(("keeps", "text"), [
    (True, "Bob Byron can now sign in with a password"), (False, "Bob Byron can no longer"),
])  # fmt: skip
def test_admins_are_mailed_who_keeps_a_password(as_ada, ada, bob, keeps, text):
    rights = {"role": "admin", "has_second_factor": True, "keeps_password": not keeps}
    User.objects.filter(pk=bob.pk).update(first_name="Bob", last_name="Byron", **rights)

    as_ada.patch(f"/users/{bob.pk}", {"keeps_password": keeps})
    as_ada.patch(f"/users/{bob.pk}", {"keeps_password": keeps})  # nothing is different

    mails = OutgoingMail.objects.filter(kind="notice.sso_changed")
    assert {mail.email for mail in mails} == {ada.email, bob.email}
    assert mails.count() == 2
    mails.filter(email=bob.email).delete()
    body = " ".join(mailed().body.replace("\u2060", "").split())
    assert "Ada Lovelace has changed how people in your company sign in." in body
    assert text in body
