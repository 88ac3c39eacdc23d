"""How many passwords are hashed at a time, and what those are told who wait too long for it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest
from django.contrib.auth.hashers import check_password, make_password
from django.test import Client

from invitations.models import Invitation
from passwords.models import PasswordChange
from signin import hashers
from signin.errors import TooManyHashes
from tests.conftest import API, PASSWORD
from tests.signin.conftest import PERSON
from throttling.models import Lockout


class Blocked:
    """A hash that takes until it is released; `running` of them are being made."""

    def __init__(self):
        self.running = 0
        self.begun = threading.Semaphore(0)
        self.released = threading.Event()

    def verify(self, encoded, password):
        self.running += 1
        self.begun.release()
        assert self.released.wait(30)
        return password == PASSWORD.encode()


@pytest.fixture
def blocked(monkeypatch):
    blocked = Blocked()
    monkeypatch.setattr("signin.hashers.argon2id.verify", blocked.verify)
    return blocked


@pytest.fixture
def no_turn(blocked, password_hash, monkeypatch):
    """As many hashes being made as may be, and nobody is patient; what it gives ends them."""
    monkeypatch.setattr(hashers, "PATIENCE", 0.01)
    with ThreadPoolExecutor(hashers.MAX_PARALLEL_HASHES) as threads:
        hashes = [
            threads.submit(check_password, PASSWORD, password_hash)
            for _ in range(hashers.MAX_PARALLEL_HASHES)
        ]
        for _ in hashes:
            assert blocked.begun.acquire(timeout=10)

        def end():
            blocked.released.set()
            assert [one.result() for one in hashes] == [True] * hashers.MAX_PARALLEL_HASHES

        yield end
        end()


def test_threads_are_left_for_everybody_else(settings):
    assert hashers.MAX_PARALLEL_HASHES == settings.WEB_THREADS // 2


def test_others_wait_for_their_turn(blocked, password_hash):
    with ThreadPoolExecutor(hashers.MAX_PARALLEL_HASHES + 2) as threads:
        hashes = [
            threads.submit(check_password, PASSWORD, password_hash)
            for _ in range(hashers.MAX_PARALLEL_HASHES + 2)
        ]
        for _ in range(hashers.MAX_PARALLEL_HASHES):
            assert blocked.begun.acquire(timeout=10)

        assert not blocked.begun.acquire(timeout=0.1)
        blocked.released.set()
        assert [one.result() for one in hashes] == [True] * len(hashes)


def test_a_new_hash_takes_a_turn(no_turn):
    with pytest.raises(TooManyHashes):
        make_password(PASSWORD)


def test_time_spent_in_another_queue_counts():
    def make_late():
        hashers.waiting_since.set(time.monotonic() - hashers.PATIENCE)
        make_password(PASSWORD)

    with pytest.raises(TooManyHashes):
        copy_context().run(make_late)


@pytest.mark.django_db
def test_known_and_unknown_addresses_are_told_the_same(no_turn, ada):
    answers = [
        API().post("/auth/login", {"email": email, "password": PASSWORD})
        for email in ("ada@example.com", "nobody@example.com")
    ]

    assert {(answer.status_code, answer.content) for answer in answers} == {
        (503, b'{"error":"service unavailable"}')
    }
    assert [answer["Retry-After"] for answer in answers] == ["2", "2"]
    assert len({tuple(sorted(answer.headers)) for answer in answers}) == 1


@pytest.mark.django_db
def test_no_failure_is_counted(no_turn, ada):
    login = {"email": ada.email, "password": "wrong password"}

    for _ in range(6):
        assert API().post("/auth/login", login).status_code == 503

    assert not Lockout.objects.exists()
    no_turn()
    assert API().post("/auth/login", login | {"password": PASSWORD}).status_code == 200


@pytest.mark.django_db
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


@pytest.mark.django_db
def test_admins_form_is_told_on_a_page(no_turn):
    client = Client(raise_request_exception=False)

    answer = client.post("/admin/login/", {"username": "ada@example.com", "password": PASSWORD})

    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert answer["Content-Type"].startswith("text/html")
