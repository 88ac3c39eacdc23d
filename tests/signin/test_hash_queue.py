"""What callers are told when too many passwords are being hashed."""

import threading

import pytest
from django.test import Client

from invitations.models import Invitation
from passwords.models import PasswordChange
from signin import hashers
from tests.conftest import API, PASSWORD
from tests.signin.conftest import PERSON

pytestmark = pytest.mark.django_db


@pytest.fixture
def no_turn(monkeypatch):
    """Nobody may hash until this is called."""
    slots = threading.BoundedSemaphore(1)
    slots.acquire()
    monkeypatch.setattr(hashers, "admitted", slots)
    return slots.release


def test_known_and_unknown_addresses_are_told_the_same(no_turn, ada):
    answers = [
        API().post("/auth/login", {"email": email, "password": PASSWORD})
        for email in ("ada@example.com", "nobody@example.com")
    ]

    told = {(answer.status_code, answer.content) for answer in answers}
    assert told == {(503, b'{"error":"service unavailable"}')}
    assert [answer["Retry-After"] for answer in answers] == ["2", "2"]
    assert len({tuple(sorted(answer.headers)) for answer in answers}) == 1


def test_refused_log_in_takes_no_query(no_turn, ada, costs):
    login = {"email": ada.email, "password": PASSWORD}

    assert costs(lambda: API().post("/auth/login", login)) == (503, 0, 1)


def test_links_are_not_used_up(no_turn, api, bob, ada, signup_link):
    invitation = Invitation.objects.create(
        account=ada.account, email="grace@example.com", invited_by=ada
    )
    change = PasswordChange.objects.create(user=bob, email=bob.email)
    calls = {
        "/auth/complete-signup": PERSON | {"token": signup_link.token},
        "/invitations/accept": PERSON | {"token": invitation.token},
        "/password-changes/redeem": {"token": change.token, "password": "another password"},
    }
    refused = {path: api.post(path, body) for path, body in calls.items()}

    assert {(one.status_code, one["Retry-After"]) for one in refused.values()} == {(503, "2")}
    assert refused["/auth/complete-signup"].json() == {"error": "service unavailable"}
    no_turn()
    assert {api.post(path, body).status_code for path, body in calls.items()} == {200}


def test_admins_form_is_told_on_a_page(no_turn):
    client = Client(raise_request_exception=False)

    answer = client.post("/admin/login/", {"username": "ada@example.com", "password": PASSWORD})

    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert answer["Content-Type"].startswith("text/html")
