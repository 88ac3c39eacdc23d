"""POST /users/{id}/password-change: an admin mails a user of the company the link."""

import pytest
from django.core import mail

from audit.models import AuditEvent, Kind
from mail.outbox import OutgoingMail
from tests.mailbox import mailed, mailed_token
from worker.rounds import Worker

pytestmark = pytest.mark.django_db


def test_user_is_mailed_the_link_and_the_audit_log_names_the_admin(as_ada, as_bob, api, ada, bob):
    answer = as_ada.post(f"/users/{bob.pk}/password-change")

    assert (answer.status_code, answer.content) == (204, b"")
    assert mailed().to == [bob.email]
    record = AuditEvent.objects.get(kind=Kind.PASSWORD_LINK_REQUESTED)
    assert (record.actor_email, record.subject) == (ada.email, bob.email)
    assert as_bob.get("/auth/me").status_code == 200  # until the link is used
    body = {"token": mailed_token(), "password": "another password"}
    assert api.post("/password-changes/redeem", body).status_code == 200


def test_each_admin_has_a_limit_that_strangers_do_not_use_up(as_ada, api, bob, settings):
    settings.MAIL_PER_ADDRESS_PER_HOUR = 2
    for _ in range(3):
        api.post("/password-changes", {"email": bob.email})

    answers = [as_ada.post(f"/users/{bob.pk}/password-change") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [204] * 3
    assert OutgoingMail.objects.count() == 2 + 2


def test_inactive_user_gets_no_password_link(as_ada, bob):
    type(bob).objects.filter(pk=bob.pk).update(is_active=False)

    assert as_ada.post(f"/users/{bob.pk}/password-change").status_code == 204
    Worker().work_round()
    assert mail.outbox == []
