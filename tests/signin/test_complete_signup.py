"""POST /auth/complete-signup, and its other name /auth/register."""

import pytest

from accounts.models import Account, User
from signin.models import SignupLink
from tests.clients import API
from tests.races import race
from tests.signin.helpers import PERSON

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("path", ["/auth/complete-signup", "/auth/register"])
def test_completed_sign_up_makes_a_company_and_signs_its_admin_in(api, signup_link, path):
    answer = api.post(path, PERSON | {"token": signup_link.token})

    assert answer.status_code == 200
    assert set(answer.json()) == {"access_token", "refresh_token", "token_type", "user"}
    user = User.objects.get(email="charles@example.com")
    assert (user.account.name, user.role) == ("Difference Engines", "admin")
    assert api.cookies["service_refresh"].value == answer.json()["refresh_token"]


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
