"""The second factor and passkeys at /admin/login/."""

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
from tests.signin.factors.helpers import begin_app, code, with_app, with_passkey, wrong_code
from tests.throttling.helpers import fail
from throttling.models import Lockout

pytestmark = pytest.mark.django_db

CREDENTIALS = {"username": "op@example.com", "password": PASSWORD}
HIDDEN_FIELD = re.compile(r'type="hidden" name="(\w+)" value="([^"]*)"')


@pytest.fixture
def superuser(db):
    return User.objects.create_superuser("op@example.com", PASSWORD)


class Browser:
    """Fills in the pages of /admin/login/, with their CSRF token."""

    def __init__(self):
        self.client = Client(enforce_csrf_checks=True)
        self.page = self.client.get("/admin/login/?next=/admin/")

    def post(self, **form):
        hidden = dict(HIDDEN_FIELD.findall(unescape(self.page.content.decode())))
        hidden = {name: value for name, value in hidden.items() if name != "next"}
        self.page = self.client.post("/admin/login/?next=/admin/", hidden | form)
        return self.page

    def use_passkey(self, key, **form):
        """Sign the passkey options of the current page, and post its form."""
        options = re.search(r'data-passkey="([^"]*)"', self.page.content.decode())[1]
        return self.post(passkey=json.dumps(key.sign(json.loads(unescape(options)))), **form)

    def is_in(self):
        return self.client.get("/admin/").status_code == 200


def test_second_page_asks_for_the_code(superuser):
    with_app(superuser)
    browser = Browser()

    page = browser.post(**CREDENTIALS)

    assert (page.status_code, browser.is_in()) == (200, False)
    assert 'autocomplete="one-time-code"' in page.content.decode()
    assert PASSWORD not in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert browser.post(code=code()).status_code == 302
    assert browser.is_in()


def test_wrong_code_counts_as_a_failed_attempt_and_asks_again(superuser):
    with_app(superuser)
    browser = Browser()
    browser.post(**CREDENTIALS)

    page = browser.post(code=wrong_code())

    assert "accepted.</p>" in page.content.decode()
    assert Lockout.objects.get().failures == 1
    assert browser.post(code=code()).status_code == 302


def test_second_page_without_csrf_token_is_refused(superuser):
    with_app(superuser)
    browser = Browser()
    browser.post(**CREDENTIALS)

    assert browser.post(code=code(), csrfmiddlewaretoken="x").status_code == 403
    assert not browser.is_in()


def test_passkey_is_accepted_on_the_second_page(superuser):
    key, browser = with_passkey(superuser), Browser()
    browser.client.defaults["HTTP_HOST"] = "localhost:8000"
    browser.post(**CREDENTIALS)

    assert browser.use_passkey(key, code="").status_code == 302
    assert browser.is_in()


def test_member_with_a_factor_gets_the_answer_to_a_wrong_password(ada):
    with_app(ada)
    browser = Browser()

    page = browser.post(username=ada.email, password=PASSWORD)

    assert "one-time-code" not in page.content.decode()
    assert "data-passkey" not in page.content.decode()


@pytest.mark.parametrize("pages", [True, False])
def test_staff_without_a_factor_are_sent_to_set_one_up(superuser, settings, pages):
    settings.STAFF_SECOND_FACTOR, settings.SERVES_PAGES = True, pages
    settings.FRONTEND_URL = "https://app.example.com"
    browser = Browser()

    page = browser.post(**CREDENTIALS).content.decode()

    link = "https://app.example.com/profile" if pages else "https://app.example.com"
    assert f'requires a second factor. <a href="{link}">Set one up</a>' in page
    assert not browser.is_in()
    assert (
        "Set one up" not in browser.post(**CREDENTIALS | {"password": "a guess"}).content.decode()
    )


def test_session_without_a_factor_ends_once_the_setting_requires_one(operator, settings):
    assert operator.get("/admin/").status_code == 200

    settings.STAFF_SECOND_FACTOR = True

    assert operator.get("/admin/").status_code == 302


def test_password_only_session_ends_once_a_factor_is_set_up(superuser, settings):
    browser = Browser()
    browser.post(**CREDENTIALS)
    answer = bearer(superuser).post("/auth/factors/totp/confirm", begin_app(bearer(superuser))[1])
    assert answer.json()["factor"]

    settings.STAFF_SECOND_FACTOR = True

    assert not browser.is_in()


def press_passkey(browser, key, **form):
    browser.client.defaults["HTTP_HOST"] = "localhost:8000"
    browser.page = browser.client.get("/admin/login/")
    return browser.use_passkey(key, **form)


def test_passkey_alone_signs_an_operator_in_even_while_locked(superuser):
    key, browser = with_passkey(superuser), Browser()
    fail(5, superuser.email)

    assert press_passkey(browser, key).status_code == 302
    assert browser.is_in()
    assert AuditEvent.objects.get(kind="login.succeeded").detail == {"method": "passkey_alone"}


def test_sign_out_during_a_passkey_sign_in_is_effective(superuser, monkeypatch):
    def use_then_sign_out(passkey, counter):
        use_passkey(passkey, counter)
        superuser.sign_out(superuser)

    use_passkey, key, browser = Passkey.use, with_passkey(superuser), Browser()
    monkeypatch.setattr(Passkey, "use", use_then_sign_out)
    press_passkey(browser, key)

    assert not browser.is_in()


def test_passkey_of_a_member_and_malformed_ones_are_refused(ada):
    key, browser = with_passkey(ada), Browser()

    assert "belong to an operator" in press_passkey(browser, key).content.decode()
    for malformed in ("{", "[]", '{"id": "x"}', "null"):
        assert browser.post(passkey=malformed).status_code == 200
    assert not browser.is_in()


def test_passkey_without_csrf_token_is_refused(superuser):
    key, browser = with_passkey(superuser), Browser()

    assert press_passkey(browser, key, csrfmiddlewaretoken="x").status_code == 403
    assert not browser.is_in()
