"""The diagnosis on a user's page: the first problem, in the order of importance."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Account, Role, User
from audit.models import Kind
from invitations.models import Invitation
from mail.outbox import MailState, OutgoingMail
from passwords.models import PasswordChange
from signin.factors.models import Factors
from tests.backoffice.helpers import page_of, staff_with, text
from tests.throttling.helpers import fail
from throttling.models import Lockout

pytestmark = pytest.mark.django_db


def diagnosis_of(operator, user):
    page = operator.get(page_of(user))
    diagnosis = page.context["panel"]["diagnosis"]
    assert f'<div class="finding" data-state="{diagnosis.state}">' in page.content.decode()
    return diagnosis


def deactivated(user):
    User.objects.filter(pk=user.pk).update(is_active=False)


def without_password(user):
    User.objects.filter(pk=user.pk).update(password="!")


def locked(user):
    fail(4, user.email)
    for _ in range(5):
        Lockout.objects.record_failure(user.email, "a known device")


def blocked(user):
    Factors.objects.create(user=user, totp_id=user.pk, wrong_codes=100)


def asked_too_often(user):
    for _ in range(6):
        OutgoingMail.objects.request_mail(PasswordChange, user.email, "en")


def mail_to(user, state, problem="", seconds=0):
    """A mail to the user that was queued so many seconds from now."""
    created_at = timezone.now() + timedelta(seconds=seconds)
    fields = {"state": state, "problem": problem, "created_at": created_at}
    OutgoingMail.objects.create(kind="passwords.passwordchange", email=user.email, **fields)


def refused(user):
    mail_to(user, MailState.REFUSED, "SMTPRecipientsRefused 550", 1)


def deferred(user):
    mail_to(user, MailState.READY, "SMTPDataError 451", 2)


def expired(user):
    past = timezone.now() - timedelta(minutes=1)
    PasswordChange.objects.create(user=user, email=user.email, expires_at=past)


def invited_elsewhere(user):
    account = Account.objects.create(name="Other Engines")
    boss = User.objects.create(email="boss@example.org", account=account, role=Role.ADMIN)
    Invitation.objects.invite(boss, user.email)


PROBLEMS = [
    (deactivated, "bad", "Deactivated: can't sign in"),
    (locked, "bad", " on a known device, after 5 failed attempts. Unlock the address"),
    (without_password, "bad", "Has no password. Send a link to set one."),
    (blocked, "bad", "Authenticator app blocked after 100 wrong codes."),
    (asked_too_often, "wait", "6 password change mails requested, 5 an hour allowed."),
    (deferred, "wait", "has not been delivered yet: SMTPDataError 451, next attempt "),
    (refused, "bad", "(SMTPRecipientsRefused 550). Check the address."),
    (expired, "wait", "The last password link expired unused on"),
    (invited_elsewhere, "wait", "Can't accept the invitation from Other Engines: the address"),
]


@pytest.mark.parametrize("number", range(len(PROBLEMS)))
def test_most_important_problem_is_shown(operator, bob, number):
    for cause, _, _ in PROBLEMS[number:]:
        cause(bob)
    diagnosis, (_, state, sentence) = diagnosis_of(operator, bob), PROBLEMS[number]

    assert diagnosis.state == state
    assert sentence in diagnosis.sentence


def test_healthy_account_shows_the_last_sign_in(operator, bob):
    assert diagnosis_of(operator, bob).sentence.endswith("not locked, has not signed in yet.")

    bob.record_sign_in(Kind.LOGIN_SUCCEEDED)

    diagnosis = diagnosis_of(operator, bob)
    assert diagnosis.state == "good"
    assert f"last signed in on {timezone.now():%Y-%m-%d}" in diagnosis.sentence


@pytest.mark.parametrize("problem", ["lock", "mail", "link", "budget"])
def test_resolved_problem_is_not_diagnosed(operator, bob, time_machine, problem):
    time_machine.move_to(timezone.now() - timedelta(hours=2), tick=False)
    causes = {"lock": locked, "mail": refused, "link": expired, "budget": asked_too_often}
    causes[problem](bob)
    time_machine.shift(timedelta(hours=2))
    bob.record_sign_in(Kind.LOGIN_SUCCEEDED)
    mail_to(bob, MailState.SENT)

    assert diagnosis_of(operator, bob).state == "good"


def test_passkey_is_enough_without_a_password(operator, bob):
    without_password(bob)
    factors = Factors.objects.create(user=bob)
    factors.passkeys.create(credential_id="x", credential=b"", handle=b"")

    assert diagnosis_of(operator, bob).state == "good"


def test_page_s_queries_do_not_grow(operator, bob, ada, new_user, django_assert_max_num_queries):
    for number in range(10):
        admin = new_user(account=Account.objects.create(name=f"Other {number}"), role=Role.ADMIN)
        Invitation.objects.invite(admin, bob.email)
        refused(bob)
    OutgoingMail.objects.filter(state=MailState.REFUSED).delete()
    operator.get("/admin/")
    with django_assert_max_num_queries(20):
        operator.get(page_of(bob))


@pytest.mark.parametrize(
    ("state", "outcome"), [("refused", "mail could not be"), ("ready", "mail has not been")]
)
def test_open_password_link_says_what_became_of_its_mail(operator, bob, state, outcome):
    link = PasswordChange.objects.create(user=bob, email=bob.email)
    OutgoingMail.objects.queue_link(link)
    OutgoingMail.objects.update(state=state)

    assert outcome in text(operator, page_of(bob))


def test_invitation_says_that_its_mail_is_deferred(operator, ada):
    invitation = Invitation.objects.invite(ada, "charles@example.com")
    OutgoingMail.objects.update(attempts=2, problem="SMTPDataError 451")

    page = text(operator, page_of(invitation))
    assert "The mail has not been delivered yet: SMTPDataError 451, next attempt" in page


def test_staff_who_may_not_see_lockouts_are_not_told_that_there_is_none(bob, ada):
    fail(5, ada.email)
    page = text(staff_with(bob, "view_user"), page_of(ada))

    assert "No problems found: active, has not signed in yet" in page
