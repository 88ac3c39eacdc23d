"""/auth/email-changes/waiting: the new address that waits to be confirmed, taken or free."""

from datetime import timedelta
from functools import partial

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from audit.models import AuditEvent, Kind
from emailchanges.models import EmailChange
from tests.clients import bearer
from tests.emailchanges.test_change import NEW, ask, mails_to, redeem, token_to
from tests.races import race
from worker.rounds import Worker

pytestmark = pytest.mark.django_db
PATH = "/auth/email-changes/waiting"
NOTHING = {"email": None, "requested_at": None}


def waiting(client):
    return client.get(PATH).json()["email"]


@pytest.mark.parametrize("email", [NEW, "ada@example.com"], ids=["free", "taken"])
def test_taken_and_free_addresses_look_alike(as_bob, bob, ada, email):
    assert as_bob.get(PATH).json() == NOTHING
    ask(as_bob, email)
    Worker().work_round()
    requested_at = AuditEvent.objects.get(kind=Kind.EMAIL_CHANGE_REQUESTED).at

    shown = as_bob.get(PATH).json()
    assert (shown["email"], shown["requested_at"][:19]) == (email, requested_at.isoformat()[:19])
    again = as_bob.post(PATH)
    assert (again.status_code, again.json()) == (200, ask(as_bob, email).json())
    assert waiting(as_bob) == email
    cancelled = as_bob.delete(PATH)
    assert (cancelled.status_code, cancelled.content) == (204, b"")
    assert as_bob.get(PATH).json() == NOTHING


@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_calls_make_the_same_statements_for_taken_and_free_addresses(bob, ada, method):
    statements = []
    for email in (NEW, ada.email):
        session = bearer(bob)
        ask(session, email)
        Worker().work_round()
        with CaptureQueriesContext(connection) as queries:
            session.call(method, PATH)
        statements.append([query["sql"].split(" ")[0] for query in queries])

    assert statements[0] == statements[1]


def test_link_is_sent_again(as_bob):
    ask(as_bob)
    first = token_to(NEW)

    as_bob.post(PATH)

    assert len(mails_to(NEW)) == 2
    assert redeem(as_bob, first).status_code == 204
    assert as_bob.get(PATH).json() == NOTHING


def test_nothing_waits_to_be_sent_again(as_bob):
    assert as_bob.post(PATH).status_code == 404
    assert as_bob.delete(PATH).status_code == 204
    assert not AuditEvent.objects.filter(kind=Kind.EMAIL_CHANGE_CANCELLED).exists()


def test_cancelled_change_is_not_made(as_bob, bob):
    ask(as_bob)
    token = token_to(NEW)

    as_bob.delete(PATH)

    assert redeem(as_bob, token).json() == {"error": "invalid or expired token"}
    assert User.objects.get(pk=bob.pk).email == bob.email
    ask(as_bob)
    assert redeem(as_bob, token_to(NEW)).status_code == 204


def test_newest_request_is_shown_to_its_user_and_all_are_cancelled(as_bob, as_ada):
    ask(as_bob)
    first = token_to(NEW)
    ask(as_bob, "bob@example.org")
    assert (waiting(as_bob), waiting(as_ada)) == ("bob@example.org", None)

    as_bob.delete(PATH)

    assert redeem(as_bob, first).status_code == 400
    assert mails_to("bob@example.org") == []
    assert EmailChange.objects.count() == 1  # the first


def test_nothing_waits_after_an_hour(as_bob, bob, time_machine):
    ask(as_bob)
    assert waiting(as_bob) == NEW
    time_machine.move_to(timezone.now() + timedelta(seconds=3601))

    assert waiting(bearer(bob)) is None


def test_request_ends_with_the_sessions(as_bob, bob):
    ask(as_bob)

    as_bob.post("/auth/logout-everywhere")

    assert waiting(bearer(bob)) is None


@pytest.mark.django_db(transaction=True)
def test_cancelling_and_confirming_at_once_have_one_outcome(bob):
    for number in range(5):
        session = bearer(bob)
        email = f"bob{number}@example.net"
        ask(session, email)
        mail.outbox.clear()
        token = token_to(email)

        _, answer = race(partial(session.delete, PATH), partial(redeem, session, token))

        events = AuditEvent.objects.filter(actor_id=bob.pk).order_by("-pk")
        outcomes = {Kind.EMAIL_CHANGE_CANCELLED: 400, Kind.EMAIL_CHANGED: 204}
        kinds = [event.kind for event in events[:2] if event.kind in outcomes]
        assert [outcomes[kind] for kind in kinds] == [answer.status_code]
        bob = User.objects.get(pk=bob.pk)
        assert (bob.email == email) == (answer.status_code == 204)
