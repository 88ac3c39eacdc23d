"""POST /users/{id}/password-change, and the back office: others mail a user the link."""

import pytest
from django.core import mail

from accounts.models import User
from audit.models import AuditEvent, Kind
from mail.outbox import OutgoingMail
from tests.mailbox import mailed, mailed_token
from tests.passwords.conftest import redeem
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
    User.objects.filter(pk=bob.pk).update(is_active=False)

    assert as_ada.post(f"/users/{bob.pk}/password-change").status_code == 204
    Worker().work_round()
    assert mail.outbox == []


def test_link_is_sent_to_active_users(operator, api, ada, bob):
    User.objects.filter(pk=ada.pk).update(is_active=False)
    chosen = {"action": "send_password_link", "_selected_action": [str(ada.pk), str(bob.pk)]}
    page = operator.post("/admin/accounts/user/", chosen, follow=True).content.decode()

    assert "A password link is on its way to" in page
    assert "Ada Lovelace: deactivated users can&#x27;t use a password link." in page
    record = AuditEvent.objects.get()
    assert (record.kind, record.actor_email) == ("password.link", "op@example.com")
    assert record.subject == "bob@example.com"
    assert redeem(api, mailed_token()).status_code == 200
