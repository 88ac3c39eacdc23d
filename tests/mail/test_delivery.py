"""The steps of a delivery: what counts, what is logged, and what a killed worker leaves."""

import pytest
from django.db import connection

from invitations.models import Invitation
from mail.budget import Budget, MailBudget
from mail.delivery import deliver, find_or_make_content, spend_budget
from mail.outbox import MAILBOX_LIMIT_REACHED, MailState, OutgoingMail
from signin.models import SignupLink
from tests.mail.conftest import request, work_again
from worker.rounds import Worker

pytestmark = pytest.mark.django_db(transaction=True)


def used(budget):
    return MailBudget.objects.get(name=budget.key).used


def test_mail_that_fails_counts_each_attempt_and_its_budget_once(server, caplog):
    server.answers = ["451 later", "451 later"]
    request()
    for _ in range(3):
        work_again()

    mail = OutgoingMail.objects.get()
    assert (mail.state, mail.attempts, mail.problem) == (MailState.SENT, 3, "")
    assert used(Budget.links_by_strangers("new@example.com")) == 1
    assert "not sent (SMTPDataError 451), attempt 2" in caplog.text
    assert "Traceback" not in caplog.text


def test_mail_that_waits_for_its_budget_has_not_been_attempted(server, ada):
    budget = Budget.links_by_users("carl@example.com")
    while budget.spend():
        pass
    Invitation.objects.invite(ada, "carl@example.com")
    Worker().work_round()

    mail = OutgoingMail.objects.get()
    assert (mail.state, mail.attempts, mail.counted_at) == (MailState.READY, 0, None)
    assert mail.problem == MAILBOX_LIMIT_REACHED


@pytest.mark.parametrize("steps", ["decide", "decide and count"])
def test_mail_of_a_worker_killed_before_sending_is_counted_once(server, ada, steps):
    if steps == "decide":
        mail, budget = request(), Budget.links_by_strangers("new@example.com")
        assert mail.lease()
        find_or_make_content(mail)
    else:
        budget = Budget.links_by_users("carl@example.com")
        Invitation.objects.invite(ada, "carl@example.com")
        mail = OutgoingMail.objects.get()
        assert mail.lease()
        spend_budget(mail)
    work_again()

    assert len(server.messages) == 1
    assert used(budget) == 1


def test_request_whose_link_fails_is_counted_once_and_made_at_the_next_attempt(server, monkeypatch):
    make_link, errors = SignupLink.for_mail.__func__, [LookupError("of a rule")]

    def fail_once(cls, mail):
        if errors:
            raise errors.pop()
        return make_link(cls, mail)

    monkeypatch.setattr(SignupLink, "for_mail", classmethod(fail_once))
    request()
    for _ in range(2):
        work_again()

    assert server.receivers() == ["new@example.com"]
    assert used(Budget.links_by_strangers("new@example.com")) == 1


def read_missing_template(link):
    raise OSError("a template that can't be read")


def divide_by_zero(link):
    """After a failed statement PostgreSQL continues a transaction only from a savepoint."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


@pytest.mark.parametrize(
    ("fail", "problem"), [(read_missing_template, "OSError"), (divide_by_zero, "DataError")]
)
def test_error_in_rendering_is_logged_and_does_not_end_the_round(
    server, ada, monkeypatch, caplog, fail, problem
):
    Invitation.objects.invite(ada, "carl@example.com")
    request("good@example.com")
    monkeypatch.setattr(Invitation, "mail_context", fail)
    Worker().work_round()

    assert server.receivers() == ["good@example.com"]
    assert "Traceback" in caplog.text
    assert OutgoingMail.objects.get(email="carl@example.com").problem == problem


def test_mail_that_another_worker_has_is_left_to_it(server):
    mail = request()
    assert OutgoingMail.objects.get().lease()

    assert deliver(mail, None) is True
    assert OutgoingMail.objects.get().attempts == 0


def test_context_of_a_mail_is_deleted_once_it_is_sent(server, ada):
    ada.send_notice("email_change_requested", new="new@example.com")
    assert OutgoingMail.objects.get().context
    Worker().work_round()

    assert OutgoingMail.objects.get().context is None
