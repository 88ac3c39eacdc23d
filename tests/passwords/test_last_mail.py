"""The last password mail that was sent always holds the link that works."""

import datetime

import pytest
from django.core import mail
from django.utils import timezone

from mail.delivery import find_or_make_content
from mail.outbox import MailState, OutgoingMail
from passwords.models import PasswordChange
from tests.passwords.conftest import new_token, redeem
from worker.rounds import Worker

pytestmark = pytest.mark.django_db


def ask(user):
    OutgoingMail.objects.request_mail(PasswordChange, user.email, "en")


def ask_until_decided(user):
    """Request a link and have the worker decide on its mail, which is not sent yet."""
    ask(user)
    find_or_make_content(
        OutgoingMail.objects.filter(state=MailState.REQUESTED).earliest("created_at")
    )


def test_older_link_works_until_the_newer_mail_is_sent(api, bob):
    mailed_token = new_token(bob)
    ask_until_decided(bob)

    assert redeem(api, mailed_token).status_code == 200


def test_of_two_waiting_mails_the_newer_is_sent(api, bob):
    ask_until_decided(bob)
    ask_until_decided(bob)
    Worker().work_round()

    assert sorted(OutgoingMail.objects.values_list("state", flat=True)) == ["dropped", "sent"]
    assert len(mail.outbox) == 1
    assert redeem(api, mail.outbox[0].body.partition("#token=")[2].split()[0]).status_code == 200


def test_link_in_a_mail_sent_after_a_newer_request_works(api, bob):
    ask_until_decided(bob)
    under_way = PasswordChange.objects.get()
    ask_until_decided(bob)

    under_way.mail_was_sent(timezone.now())

    assert redeem(api, under_way.token).status_code == 200


def test_link_that_was_ended_during_its_delivery_stays_dead(api, bob):
    ask_until_decided(bob)
    under_way = PasswordChange.objects.get()
    PasswordChange.end_all_of(bob.pk)

    under_way.mail_was_sent(timezone.now())

    assert redeem(api, under_way.token).status_code == 400


def test_older_mail_that_is_tried_again_after_the_newer_is_dropped(bob):
    ask_until_decided(bob)
    OutgoingMail.objects.update(due_at=timezone.now() + datetime.timedelta(minutes=1))
    newer = new_token(bob)
    OutgoingMail.objects.update(due_at=timezone.now())
    Worker().work_round()

    assert len(mail.outbox) == 1
    assert newer in mail.outbox[0].body
    assert OutgoingMail.objects.filter(state=MailState.DROPPED).count() == 1


def test_strangers_sign_ups_suppress_no_password_mail(api, bob):
    for _ in range(6):
        api.post("/auth/signup", {"email": bob.email})
    ask(bob)
    Worker().work_round()

    assert [message.subject for message in mail.outbox] == ["Reset your password"]


@pytest.mark.parametrize("email", ["bob@example.com", "nobody@example.com"])
def test_requests_count_whether_or_not_a_mail_is_sent(bob, email, caplog):
    for _ in range(8):
        OutgoingMail.objects.request_mail(PasswordChange, email, "en")

    assert OutgoingMail.objects.count() == 5
    assert caplog.text.count("more than 5 requests an hour") == 1
    assert email not in caplog.text
