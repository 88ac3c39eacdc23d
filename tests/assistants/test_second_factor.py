"""The consent page asks who has a second factor for it, as log-in does."""

import json
import re
from html import unescape

import pytest

from accounts.models import Account
from assistants.models import Grant
from tests.assistants.conftest import Person, answered, hidden, request_of
from tests.cast import PASSWORD
from tests.signin.factors.conftest import code, with_app, with_passkey, wrong_code
from throttling.models import Lockout

pytestmark = pytest.mark.django_db


@pytest.fixture
def person(client):
    return Person(request_of(client))


def test_code_is_asked_for_on_a_second_page(person, ada):
    with_app(ada)

    asked = person.sign_in(ada.email)

    assert asked.status_code == 401
    assert 'autocomplete="one-time-code"' in asked.content.decode()
    assert "ticket" not in hidden(asked)
    assert PASSWORD not in asked.content.decode()
    assert person.post({"code": code()}).status_code == 200
    assert "code" in answered(person.decide("allow"))


def test_wrong_code_is_a_failure(person, ada):
    with_app(ada)
    person.sign_in(ada.email)

    page = person.post({"code": wrong_code()})

    assert page.status_code == 401
    assert "wrong" in page.content.decode()
    assert Lockout.objects.get().failures == 1
    assert person.post({"code": code()}).status_code == 200


def test_seal_of_another_secret_or_time_is_no_password(person, ada):
    with_app(ada)
    person.sign_in(ada.email)

    page = person.post({"code": code(), "sealed": "gAAAAABm"})

    assert page.status_code == 400
    assert "has expired" in page.content.decode()


def test_sign_in_by_the_password_alone_decides_nothing_once_there_is_a_factor(person, ada):
    person.sign_in(ada.email)
    with_app(ada)

    assert person.decide("allow").status_code == 400
    assert not Grant.objects.exists()


def test_passkey_answers_the_page_where_it_works(person, ada):
    key = with_passkey(ada)
    assert "data-passkey" not in person.sign_in(ada.email).content.decode()
    person.browser.defaults["HTTP_HOST"] = "localhost:8000"
    page = person.sign_in(ada.email)
    options = re.search(r'data-passkey="([^"]*)"', page.content.decode())[1]

    signed = key.sign(json.loads(unescape(options)))
    page = person.post({"code": "", "passkey": json.dumps(signed)})

    assert page.status_code == 200, page.content
    assert "code" in answered(person.decide("allow"))


@pytest.mark.parametrize("passkey", ["{", "[]", "{}", '{"id": 7}', "[" * 9000])
def test_nonsense_in_place_of_a_passkey_is_no_way_in(person, ada, passkey):
    with_app(ada)
    person.sign_in(ada.email)

    assert person.post({"code": "", "passkey": passkey}).status_code == 401


def test_operator_who_must_set_up_a_factor_is_told(person, ada):
    Account.objects.update(second_factor="required")

    page = person.sign_in(ada.email)

    assert page.status_code == 401
    assert "requires two-factor authentication" in page.content.decode()
