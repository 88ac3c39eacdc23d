"""The consent page asks users for their second factor."""

import json
import re
from html import unescape

import pytest

from accounts.models import Account
from assistants.models import Grant
from tests.assistants.conftest import hidden_fields
from tests.cast import PASSWORD
from tests.signin.factors.helpers import code, with_app, with_passkey, wrong_code
from throttling.models import Lockout

pytestmark = pytest.mark.django_db


def test_second_page_asks_for_the_code(person, ada):
    with_app(ada)

    page = person.sign_in(ada.email)

    assert page.status_code == 401
    assert 'autocomplete="one-time-code"' in page.content.decode()
    assert "ticket" not in hidden_fields(page)
    assert PASSWORD not in page.content.decode()
    assert person.post({"code": code()}).status_code == 200
    assert person.allow()


def test_wrong_code_counts_as_a_failed_attempt(person, ada):
    with_app(ada)
    person.sign_in(ada.email)

    page = person.post({"code": wrong_code()})

    assert page.status_code == 401
    assert "wrong" in page.content.decode()
    assert Lockout.objects.get().failures == 1
    assert person.post({"code": code()}).status_code == 200


def test_foreign_seal_is_refused(person, ada):
    with_app(ada)
    person.sign_in(ada.email)

    page = person.post({"code": code(), "sealed": "gAAAAABm"})

    assert page.status_code == 400
    assert "has expired" in page.content.decode()


def test_sign_in_without_a_factor_is_refused_once_one_is_set_up(signed_in, ada):
    with_app(ada)

    assert signed_in.decide("allow").status_code == 400
    assert not Grant.objects.exists()


def test_passkey_is_accepted_where_it_works(person, ada):
    key = with_passkey(ada)
    assert "data-passkey" not in person.sign_in(ada.email).content.decode()
    person.browser.defaults["HTTP_HOST"] = "localhost:8000"
    page = person.sign_in(ada.email)
    options = re.search(r'data-passkey="([^"]*)"', page.content.decode())[1]

    passkey = key.sign(json.loads(unescape(options)))
    page = person.post({"code": "", "passkey": json.dumps(passkey)})

    assert page.status_code == 200, page.content
    assert person.allow()


@pytest.mark.parametrize("passkey", ["{", "[]", "{}", '{"id": 7}', "[" * 9000])
def test_malformed_passkey_is_refused(person, ada, passkey):
    with_app(ada)
    person.sign_in(ada.email)

    assert person.post({"code": "", "passkey": passkey}).status_code == 401


def test_user_who_must_set_up_a_factor_is_told_so(person, ada):
    Account.objects.update(second_factor="required")

    page = person.sign_in(ada.email)

    assert page.status_code == 401
    assert "requires two-factor authentication" in page.content.decode()
