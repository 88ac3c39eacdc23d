"""E-mailed links: their tokens, and that each is used once."""

import re
import uuid

import pytest
from django.db import transaction
from django.db.models import F

from accounts.models import User
from invitations.models import Invitation
from mail.errors import InvalidLink
from mail.links import LINK_TOKEN
from mail.outbox import OutgoingMail
from signin.models import SignupLink
from tests.cast import PASSWORD
from tests.mail.conftest import work_again
from tests.races import race

pytestmark = pytest.mark.django_db


def test_token_of_a_link_is_stored_nowhere(signup_link):
    assert signup_link.token[22:] not in str(SignupLink.objects.values().get())


def test_token_of_a_link_is_always_the_same(signup_link):
    stored_link = SignupLink.objects.get()
    assert LINK_TOKEN.fullmatch(stored_link.token)
    assert stored_link.url == f"http://localhost:8000/complete-signup#token={signup_link.token}"


def unsent_link(end):
    """An invitation, queued and not mailed yet, whose token ends with `end`."""
    inviter, link = User.objects.get(), Invitation(email="new@example.com")
    while link.token[-1] != end:
        link.pk = uuid.uuid4()
    link.account_id, link.invited_by = inviter.account_id, inviter
    link.save(force_insert=True)
    OutgoingMail.objects.queue_link(link)
    return link


@pytest.mark.parametrize("end", ["-", "_"])
def test_mailed_token_ends_with_a_letter_or_digit_and_works(api, server, ada, end):
    link = unsent_link(end)
    server.answers = ["451 later"]
    tokens = []
    for _ in range(2):  # the first mail may have been delivered
        work_again()
        tokens.append(Invitation.objects.get().token)
    text = server.messages[0].get_body(["plain"]).get_content()
    token = re.search(r"#token=(\S+)", text)[1]

    assert tokens == [token, token]
    assert token[-1].isalnum()
    assert token[:21] == link.token[:21]  # the row's id
    names = {"first_name": "G", "last_name": "H", "password": PASSWORD}
    assert api.post("/invitations/accept", names | {"token": token}).status_code == 200


def test_link_that_is_sent_anew_while_it_is_mailed_keeps_its_new_token(ada):
    link = unsent_link("-")
    Invitation.objects.update(generation=9)
    link.end_token_with_letter()

    assert Invitation.objects.get().generation == 9


def test_link_expiry_is_set_once(signup_link):
    before = SignupLink.objects.get().expires_at

    signup_link.mail_was_sent(before)

    assert SignupLink.objects.get().expires_at == before


def test_link_that_is_sent_anew_meanwhile_cannot_be_used(signup_link):
    link = SignupLink.objects.find_by_token(signup_link.token)
    SignupLink.objects.update(generation=F("generation") + 1)

    with pytest.raises(InvalidLink):
        link.use()
    SignupLink.objects.get().use()


@pytest.mark.django_db(transaction=True)
def test_link_is_used_once_by_ten_parallel_requests(signup_link):
    def use():
        try:
            with transaction.atomic():
                SignupLink.objects.find_by_token(signup_link.token).use()
        except InvalidLink:
            return "refused"
        return "used"

    assert sorted(race(*[use] * 10)) == ["refused"] * 9 + ["used"]
