"""POST /auth/signup; POST /auth/complete-signup, and its other name /auth/register."""

import re

import pytest
from django.core import mail

from accounts.models import Account, User
from mail.outbox import OutgoingMail
from signin.models import SignupLink
from tests.clients import API
from tests.races import race
from tests.signin.helpers import PERSON, assert_signed_in
from worker.rounds import Worker

pytestmark = pytest.mark.django_db


def test_free_address_is_mailed_a_sign_up_link(api):
    api.post("/auth/signup", {"email": "new@example.com"})
    Worker().work_round()

    assert mail.outbox[0].to == ["new@example.com"]
    assert SignupLink.objects.get().url in mail.outbox[0].body


@pytest.mark.parametrize("proxies", [0, 1])
def test_forwarding_headers_lead_no_mailed_link_elsewhere(api, settings, proxies):
    settings.TRUSTED_PROXY_COUNT = proxies
    headers = {"x-forwarded-host": "evil.example", "forwarded": "host=evil.example;proto=http"}
    headers |= {"x-forwarded-port": "666", "x-forwarded-for": "203.0.113.1"}
    api.post("/auth/signup", {"email": "new@example.com"}, headers=headers)
    Worker().work_round()

    assert f"{settings.FRONTEND_URL}/complete-signup#token=" in mail.outbox[0].body
    assert "evil.example" not in str(mail.outbox[0].message())
    assert ":666" not in mail.outbox[0].body


def test_sign_up_of_a_registered_address_has_the_same_answer_and_no_mail(api, ada):
    free = api.post("/auth/signup", {"email": "new@example.com"})
    registered = api.post("/auth/signup", {"email": "ADA@example.com"})
    Worker().work_round()

    assert registered.status_code == free.status_code == 200
    assert registered.content == free.content
    assert set(registered.headers) == set(free.headers)
    assert [message.to for message in mail.outbox] == [["new@example.com"]]


def test_sign_up_takes_three_statements_and_looks_no_user_up(api, django_assert_num_queries):
    with django_assert_num_queries(3) as captured:
        api.post("/auth/signup", {"email": "new@example.com"})

    tables = [re.findall('(?:INTO|FROM) "?(\\w+)', query["sql"])[-1] for query in captured]
    assert set(tables) == {"mail_mailbudget", "mail_outgoingmail"}


@pytest.mark.parametrize(("accept", "subject"), [("de-AT,de;q=0.9", "de"), ("tlh", "en")])
def test_sign_up_mail_is_in_the_browsers_language(api, accept, subject):
    api.post("/auth/signup", {"email": "new@example.com"}, headers={"accept-language": accept})

    assert OutgoingMail.objects.get().language == subject


@pytest.mark.parametrize("path", ["/auth/complete-signup", "/auth/register"])
def test_completed_sign_up_makes_a_company_and_signs_its_admin_in(api, signup_link, path):
    answer = api.post(path, PERSON | {"token": signup_link.token})

    assert_signed_in(api, answer)
    assert set(answer.json()) == {"access_token", "refresh_token", "token_type", "user"}
    user = User.objects.get(email="charles@example.com")
    assert (user.account.name, user.role) == ("Difference Engines", "admin")


def test_new_admin_has_the_language_of_the_sign_up_mail(api, signup_link):
    SignupLink.objects.update(language="sv")

    answer = api.post("/auth/complete-signup", PERSON | {"token": signup_link.token})

    assert answer.json()["user"]["settings"] == {"language": "sv"}


def test_forged_sign_up_token_is_refused(api, signup_link):
    token = signup_link.token
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    for forged in (token[:-1], token + "A", changed, "A" * 64, "ü" * 64):
        answer = api.post("/auth/complete-signup", PERSON | {"token": forged})

        assert (answer.status_code, answer.json()) == (400, {"error": "invalid or expired token"})
    assert not Account.objects.exists()


def test_sign_up_of_a_taken_address_is_a_conflict_and_makes_no_company(api, signup_link, ada):
    User.objects.filter(pk=ada.pk).update(email=signup_link.email)

    answer = api.post("/auth/complete-signup", PERSON | {"token": signup_link.token})

    assert (answer.status_code, answer.json()) == (409, {"error": "e-mail already registered"})
    assert Account.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [("password", "seven77"), ("password", "x" * 257), ("first_name", "  "), ("account_name", 7),
     ("last_name", "a\x00b"), ("token", None)],
)  # fmt: skip
def test_bad_sign_up_field_is_named_and_uses_no_link_up(api, signup_link, field, value):
    answer = api.post("/auth/complete-signup", PERSON | {"token": signup_link.token, field: value})

    assert answer.status_code == 400
    assert list(answer.json()["fields"]) == [field]
    assert SignupLink.objects.get().used_at is None


@pytest.mark.django_db(transaction=True)
def test_thirty_completions_of_a_sign_up_link_make_one_company(signup_link):
    body = PERSON | {"token": signup_link.token}

    answers = race(*[lambda: API().post("/auth/complete-signup", body)] * 30)

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 29
    assert Account.objects.count() == User.objects.count() == 1
