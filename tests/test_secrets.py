"""SECRET_KEY is changed in the guide's order, and what was signed meanwhile holds.

The new secret is a fallback everywhere first, then it signs and the older one is the fallback, then
that one goes.
"""

import pytest

from accounts.models import Account
from assistants.models import Client
from passwords.models import PasswordChange
from signin.factors.models import Factors
from tests.assistants.conftest import (
    REDIRECT,
    Person,
    authorization_query,
    authorize,
    grant_of,
    redeem,
    refresh,
)
from tests.clients import API, bearer
from tests.signin.factors import helpers as factors
from tests.signin.factors.helpers import challenge, log_in, with_app, with_passkey
from tests.signin.helpers import admin_browser

OLD, NEW = "the-older-secret-of-the-service" * 2, "the-newer-secret-of-the-service" * 2
FIRST, SECOND, THIRD = (OLD, [NEW]), (NEW, [OLD]), (NEW, [])


@pytest.fixture
def at(settings):
    """Makes this process a host at that step."""

    def step(secrets):
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = secrets

    return step


def mailed_link(ada):
    token = PasswordChange.objects.create(user=ada, email=ada.email).token
    body = {"token": token, "password": "another good one"}
    return lambda: API().post("/password-changes/redeem", body).status_code == 200


def admin_session(ada):
    browser = admin_browser(ada)
    return lambda: browser.get("/admin/").status_code == 200


def assistant():
    return Client.objects.create(name="Testbench", redirect_uris=[REDIRECT])


def consent_ticket(ada):
    person = Person(authorization_query(assistant()))
    person.sign_in(ada.email)
    return lambda: person.decide("allow").status_code == 302


def code(ada):
    client = assistant()
    given = authorize(client, ada)
    return lambda: redeem(API(), client, given).status_code == 200


def refresh_token(ada):
    client = assistant()
    token = redeem(API(), client, grant_of(ada, client).authorization_code).json()["refresh_token"]
    return lambda: refresh(API(), client, token).status_code == 200


def passkeys_challenge(ada):
    body = {"credential": with_passkey(ada).sign(challenge(API()))}
    return lambda: API().post("/auth/passkeys/login", body).status_code == 200


def app(ada):
    with_app(ada)
    return lambda: log_in(API(), ada, code=factors.code())[0] == 200


def app_that_is_being_added(ada):
    _, body = factors.begin_app(bearer(ada))
    return lambda: bearer(ada).post("/auth/factors/totp/confirm", body).status_code == 200


def enrolment(ada):
    Account.objects.update(second_factor="required")
    api = API(authorization=f"Bearer {log_in(API(), ada)[1]['enrolment']}")
    return lambda: api.post("/auth/factors/totp", {}).status_code == 201


def sealed_page(ada):
    with_passkey(ada)
    recovery = Factors.objects.get().renew_codes()
    person = Person(authorization_query(assistant()))
    assert "sealed" in person.sign_in(ada.email).content.decode()
    return lambda: person.post({"code": recovery[0]}).status_code == 200


SIGNED = [mailed_link, admin_session, consent_ticket, code, refresh_token]
SIGNED += [passkeys_challenge, app, app_that_is_being_added, enrolment, sealed_page]


@pytest.mark.parametrize("make", SIGNED)
@pytest.mark.parametrize(
    ("made_at", "shown_at", "holds"),
    [(FIRST, SECOND, True), (SECOND, FIRST, True),  # to a host that is a step behind
     (SECOND, THIRD, True), ((OLD, []), FIRST, True), ((OLD, []), THIRD, False),
     ((NEW, []), (OLD, []), False)],
)  # fmt: skip
def test_what_is_signed_holds_a_step_before_and_behind(at, ada, make, made_at, shown_at, holds):
    at(made_at)
    shown = make(ada)

    at(shown_at)

    assert shown() is holds
