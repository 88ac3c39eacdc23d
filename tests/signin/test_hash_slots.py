"""How many passwords a process hashes at a time, and how further callers wait."""

import threading

import pytest
from django.db import connection

from signin import hashers
from signin.errors import TooManyHashes
from signin.hashers import hash_slot


@pytest.fixture(autouse=True)
def few_slots(monkeypatch):
    """One hash at a time, and one caller waiting."""
    monkeypatch.setattr(hashers, "hash_slots", threading.BoundedSemaphore(1))
    monkeypatch.setattr(hashers, "caller_slots", threading.BoundedSemaphore(2))


class Caller(threading.Thread):
    """A call that hashes until it is released."""

    def __init__(self):
        super().__init__(daemon=True)
        self.hashes, self.released = threading.Event(), threading.Event()
        self.start()

    def run(self):
        with hash_slot():
            self.hashes.set()
            assert self.released.wait(60)


def test_as_many_callers_wait_for_a_hash_as_are_served_in_three_seconds():
    """A process hashes 24 passwords a second on half of two busy cores, 40 on one of its own."""
    assert 24 * 3 <= hashers.MAX_ADMITTED <= 40 * 3


def test_second_caller_waits_for_the_first_ones_hash_slot():
    first = Caller()
    assert first.hashes.wait(60)
    second = Caller()

    assert not second.hashes.wait(0.1)
    first.released.set()
    assert second.hashes.wait(60)
    second.released.set()
    second.join()


def test_caller_that_waits_too_long_for_a_hash_slot_is_refused(monkeypatch):
    monkeypatch.setattr(hashers, "MAX_WAIT_SECONDS", 0.05)
    first = Caller()
    assert first.hashes.wait(60)

    with pytest.raises(TooManyHashes), hash_slot():
        pass
    first.released.set()
    first.join()


def test_failed_call_gives_its_hash_slot_back():
    for _ in range(5):
        with pytest.raises(ValueError, match="wrong"), hash_slot():
            raise ValueError("wrong")


@pytest.mark.django_db(transaction=True)
def test_caller_that_waits_for_a_hash_slot_holds_no_database_connection():
    first = Caller()
    assert first.hashes.wait(60)
    connections = []

    def call():
        connection.ensure_connection()
        threading.Timer(0.2, first.released.set).start()
        with hash_slot():
            connections.append(connection.connection)
        connection.close()

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()

    assert connections == [None]
