"""E-mailed links: their tokens, and that each is used once."""

import pytest
from django.db import transaction
from django.db.models import F

from mail.errors import InvalidLink
from mail.links import TOKEN
from signin.models import SignupLink
from tests.conftest import race

pytestmark = pytest.mark.django_db


def test_token_is_stored_nowhere(signup_link):
    row = SignupLink.objects.values().get()

    assert signup_link.token not in str(row)
    assert signup_link.token[22:] not in str(row)


def test_token_is_the_same_each_time_and_in_the_fragment(signup_link):
    again = SignupLink.objects.get()

    assert TOKEN.fullmatch(again.token)
    assert again.url == f"http://localhost:8000/complete-signup#token={signup_link.token}"


def test_link_expiry_is_set_once(signup_link):
    before = SignupLink.objects.get().expires_at

    signup_link.mail_was_sent(before)

    assert SignupLink.objects.get().expires_at == before


def test_link_that_is_sent_anew_meanwhile_cannot_be_used(signup_link):
    found = SignupLink.objects.find_by_token(signup_link.token)
    SignupLink.objects.update(generation=F("generation") + 1)

    with pytest.raises(InvalidLink):
        found.use()
    SignupLink.objects.get().use()


@pytest.mark.django_db(transaction=True)
def test_ten_uses_that_race_come_to_one(signup_link):
    def use():
        try:
            with transaction.atomic():
                SignupLink.objects.find_by_token(signup_link.token).use()
        except InvalidLink:
            return "refused"
        return "used"

    assert sorted(race(*[use] * 10)) == ["refused"] * 9 + ["used"]
