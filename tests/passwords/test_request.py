"""POST /password-changes: anyone requests a link; the answer reveals nothing."""

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from audit.models import AuditEvent
from mail.outbox import MailState, OutgoingMail
from passwords.models import PasswordChange
from tests.passwords.conftest import new_token, redeem
from worker.rounds import Worker

pytestmark = pytest.mark.django_db


def ask(api, email):
    return api.post("/password-changes", {"email": email})


def test_user_is_mailed_a_password_link(api, bob):
    assert ask(api, "Bob@Example.com").status_code == 200
    Worker().work_round()

    (message,) = mail.outbox
    assert message.to == [bob.email]
    assert f"/change-password#token={PasswordChange.objects.get().token}" in message.body


@pytest.mark.parametrize("kind", ["unknown", "inactive"])
def test_ineligible_addresses_get_the_same_answer_and_no_mail(api, bob, kind):
    User.objects.filter(pk=bob.pk).update(is_active=False)
    email = bob.email if kind == "inactive" else "nobody@example.com"

    answer = ask(api, email)
    Worker().work_round()

    assert (answer.status_code, mail.outbox) == (200, [])
    assert OutgoingMail.objects.get().state == MailState.DROPPED


def test_registered_and_unknown_addresses_get_the_same_bytes_headers_and_queries(api, bob):
    answers, queries = [], []
    for email in (bob.email, "nob@example.com"):
        with CaptureQueriesContext(connection) as captured:
            answers.append(ask(api, email))
        queries.append([query["sql"].split()[0] for query in captured])

    assert answers[0].content == answers[1].content
    assert list(answers[0].headers) == list(answers[1].headers)
    assert queries[0] == queries[1] == ["INSERT", "INSERT"]


def test_link_is_recorded_once_its_mail_is_made(api, bob):
    for email in (bob.email, "nobody@example.com"):
        ask(api, email)
    assert not AuditEvent.objects.exists()
    Worker().work_round()

    record = AuditEvent.objects.get()
    assert (record.kind, record.subject, record.actor_id) == ("password.link", bob.email, None)
    assert record.address == "127.0.0.1"


def test_newer_password_link_replaces_the_older(api, bob):
    older, newer = new_token(bob), new_token(bob)

    assert redeem(api, older).json() == {"error": "invalid or expired token"}
    assert redeem(api, newer).status_code == 200


def test_mail_over_the_hours_limit_replaces_no_link(api, bob, settings):
    settings.MAIL_PER_ADDRESS_PER_HOUR = 1
    token = new_token(bob)

    assert ask(api, bob.email).status_code == 200
    Worker().work_round()

    assert len(mail.outbox) == 1
    assert redeem(api, token).status_code == 200


@pytest.mark.parametrize("email", [None, 1, "", "nobody", "a\x00@b.org", ["bob@example.com"]])
def test_invalid_address_of_a_request_names_its_field(api, db, email):
    response = ask(api, email)

    assert response.status_code == 400
    assert list(response.json()["fields"]) == ["email"]
