"""/admin/login/ beyond its first page."""

import json
import re
from html import unescape

import pytest
from django.test import Client

from accounts.models import User
from audit.models import AuditEvent
from signin.factors.models import Passkey
from tests.cast import PASSWORD
from tests.clients import bearer
from tests.signin.factors.conftest import begin_app, code, with_app, with_passkey, wrong_code
from tests.throttling.helpers import fail
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

FIRST = {"username": "op@example.com", "password": PASSWORD}
HIDDEN = re.compile(r'type="hidden" name="(\w+)" value="([^"]*)"')


@pytest.fixture
def op(db):
    return User.objects.create_superuser("op@example.com", PASSWORD)


class Browser:
    """Fills the log-in's pages in, with the token against forgery."""

    def __init__(self):
        self.client = Client(enforce_csrf_checks=True)
        self.page = self.client.get("/admin/login/?next=/admin/")

    def post(self, **form):
        hidden = dict(HIDDEN.findall(unescape(self.page.content.decode())))
        hidden = {name: value for name, value in hidden.items() if name != "next"}
        self.page = self.client.post("/admin/login/?next=/admin/", hidden | form)
        return self.page

    def use_passkey(self, key, **form):
        """Answer what the page at hand asks of passkeys, and send the rest of its form."""
        options = re.search(r'data-passkey="([^"]*)"', self.page.content.decode())[1]
        return self.post(passkey=json.dumps(key.sign(json.loads(unescape(options)))), **form)

    def is_in(self):
        return self.client.get("/admin/").status_code == 200


def test_code_is_asked_for_on_a_second_page(op):
    with_app(op)
    browser = Browser()

    page = browser.post(**FIRST)

    assert (page.status_code, browser.is_in()) == (200, False)
    assert 'autocomplete="one-time-code"' in page.content.decode()
    assert PASSWORD not in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert browser.post(code=code()).status_code == 302
    assert browser.is_in()


def test_wrong_code_is_a_failure_and_asks_again(op):
    with_app(op)
    browser = Browser()
    browser.post(**FIRST)

    page = browser.post(code=wrong_code())

    assert "accepted.</p>" in page.content.decode()
    assert Lockout.objects.get().failures == 1
    assert browser.post(code=code()).status_code == 302


def test_forged_form_signs_nobody_in(op):
    with_app(op)
    browser = Browser()
    browser.post(**FIRST)

    assert browser.post(code=code(), csrfmiddlewaretoken="x").status_code == 403
    assert not browser.is_in()


def test_passkey_answers_the_second_page(op):
    key, browser = with_passkey(op), Browser()
    browser.client.defaults["HTTP_HOST"] = "localhost:8000"
    browser.post(**FIRST)

    assert browser.use_passkey(key, code="").status_code == 302
    assert browser.is_in()


def test_member_with_a_factor_is_told_no_more_than_a_wrong_password(ada):
    with_app(ada)
    browser = Browser()

    right = browser.post(username=ada.email, password=PASSWORD)

    assert "one-time-code" not in right.content.decode()
    assert "data-passkey" not in right.content.decode()


@pytest.mark.parametrize("pages", [True, False])
def test_staff_without_one_are_sent_to_set_one_up(op, settings, pages):
    settings.STAFF_SECOND_FACTOR, settings.SERVES_PAGES = True, pages
    settings.FRONTEND_URL = "https://app.example.com"
    browser = Browser()

    page = browser.post(**FIRST).content.decode()

    link = "https://app.example.com/profile" if pages else "https://app.example.com"
    assert f'requires a second factor. <a href="{link}">Set one up</a>' in page
    assert not browser.is_in()
    assert "Set one up" not in browser.post(**FIRST | {"password": "a guess"}).content.decode()


def test_sessions_without_one_are_out_once_it_is_asked_of_staff(operator, settings):
    assert operator.get("/admin/").status_code == 200

    settings.STAFF_SECOND_FACTOR = True

    assert operator.get("/admin/").status_code == 302


def test_password_only_session_is_out_once_its_owner_has_set_one_up(op, settings):
    browser = Browser()
    browser.post(**FIRST)
    added = bearer(op).post("/auth/factors/totp/confirm", begin_app(bearer(op))[1])
    assert added.json()["factor"]

    settings.STAFF_SECOND_FACTOR = True

    assert not browser.is_in()


def press_passkey(browser, key, **form):
    browser.client.defaults["HTTP_HOST"] = "localhost:8000"
    browser.page = browser.client.get("/admin/login/")
    return browser.use_passkey(key, **form)


def test_passkey_alone_logs_an_operator_in_even_while_locked(op):
    key, browser = with_passkey(op), Browser()
    fail(5, op.email)

    assert press_passkey(browser, key).status_code == 302
    assert browser.is_in()
    assert AuditEvent.objects.get(kind="login.succeeded").detail == {"method": "passkey_alone"}


def test_sign_out_that_comes_during_a_passkey_log_in_holds(op, monkeypatch):
    def use_then_sign_out(passkey, counter):
        use(passkey, counter)
        op.sign_out(op)

    use, key, browser = Passkey.use, with_passkey(op), Browser()
    monkeypatch.setattr(Passkey, "use", use_then_sign_out)
    press_passkey(browser, key)

    assert not browser.is_in()


def test_passkey_of_a_member_or_a_broken_one_opens_nothing(ada):
    key, browser = with_passkey(ada), Browser()

    assert "belong to an operator" in press_passkey(browser, key).content.decode()
    for broken in ("{", "[]", '{"id": "x"}', "null"):
        assert browser.post(passkey=broken).status_code == 200
    assert not browser.is_in()


def test_passkey_without_the_form_s_token_opens_nothing(op):
    key, browser = with_passkey(op), Browser()

    assert press_passkey(browser, key, csrfmiddlewaretoken="x").status_code == 403
    assert not browser.is_in()
