"""A new e-mail address: requested, confirmed at the new one, undone at the old one, or changed by
operators for a user who has lost a mailbox."""

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.core.exceptions import PermissionDenied
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from emailchanges.models import EmailChange, UndoEmailChange
from invitations.models import Invitation
from mail.outbox import MailState, OutgoingMail
from passwords.models import PasswordChange
from signin.factors.models import Factors
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.mailbox import visible
from tests.signin.factors.helpers import with_app, wrong_code
from throttling.models import Lockout
from worker.rounds import Worker

pytestmark = pytest.mark.django_db
DEAD = {"error": "invalid or expired token"}
NEW = "robert@example.net"


def ask(client, email=NEW, password=PASSWORD):
    return client.post("/auth/email-changes", {"email": email, "password": password})


def redeem(api, token, action="redeem"):
    """Post the token: as the user who requested the change, or without a session to undo it."""
    if action == "redeem":
        api = bearer(EmailChange.objects.latest("created_at").user)
    return api.post(f"/email-changes/{action}", {"token": token})


def login(email):
    return API().post("/auth/login", {"email": email, "password": PASSWORD}).status_code


def mails_to(email):
    Worker().work_round()
    return [message for message in mail.outbox if message.to == [email]]


def token_to(email):
    """The token in the newest mail to an address."""
    return re.findall(r"#token=(\S+)", str(mails_to(email)[-1].body))[-1]


@pytest.fixture
def token(as_bob):
    assert ask(as_bob).status_code == 200
    return token_to(NEW)


@pytest.fixture
def undo(api, bob, token):
    """The token of the link that undoes the change."""
    redeem(api, token)
    return token_to(bob.email)


def test_address_changes_by_the_link_in_the_new_mailbox(api, as_bob, bob, token):
    assert login(NEW) == 401
    response = redeem(api, token)

    assert (response.status_code, response.content) == (204, b"")
    assert (login(bob.email), login(NEW)) == (401, 200)
    assert as_bob.get("/auth/me").json()["email"] == NEW  # tokens go on


def test_old_address_is_mailed_the_request_and_the_change(api, bob, token):
    """Addresses and times in these mails have no invisible characters."""
    (request_notice,) = mails_to(bob.email)
    redeem(api, token)
    _, notice = mails_to(bob.email)

    assert f"asked to change its e-mail address to {NEW}" in request_notice.body
    assert "127.0.0.1" in request_notice.body
    assert notice.subject == "Your e-mail address was changed"
    assert UndoEmailChange.objects.get().url in notice.body
    assert NEW in notice.body
    assert "expires in 7 days." in notice.body
    assert f"from bob@example.com to {NEW}" in visible(mails_to(NEW)[-1].body)
    assert [text for text in (request_notice, notice) if "\u2060" in text.subject + text.body] == []


def test_answer_is_the_same_for_a_taken_address_and_no_mail_goes_there(as_bob, eve):
    free, taken, own = ask(as_bob), ask(as_bob, eve.email), ask(as_bob, "bob@example.com")
    Worker().work_round()

    assert free.content == taken.content == own.content
    assert free.headers.keys() == taken.headers.keys()
    assert mails_to(eve.email) == []
    assert EmailChange.objects.get().email == NEW
    assert len(mails_to("bob@example.com")) == 3  # the same notice each time


def test_request_costs_the_same_statements_whoever_has_the_address(as_bob, eve):
    def statements(email):
        with CaptureQueriesContext(connection) as queries:
            ask(as_bob, email)
        return [query["sql"] for query in queries]

    free, taken = statements(NEW), statements(eve.email)

    assert len(free) == len(taken)
    assert not [sql for sql in taken if eve.email in sql and "accounts_user" in sql]


def test_wrong_password_for_an_email_change_is_403_and_counts(as_bob, bob):
    answers = [ask(as_bob, password="wrong password") for _ in range(5)]

    assert {(a.status_code, a.json()["error"]) for a in answers} == {(403, "wrong password")}
    assert ask(as_bob).status_code == 429
    assert Lockout.objects.is_locked(bob.email)
    assert OutgoingMail.objects.get().kind == "signin.unlocklink"


def test_email_change_needs_the_second_factor(as_bob, bob):
    recovery = with_app(bob)
    body = {"email": NEW, "password": PASSWORD}
    alone = as_bob.post("/auth/email-changes", body)
    wrong = as_bob.post("/auth/email-changes", body | {"code": wrong_code()})
    assert (alone.status_code, alone.json()["methods"]) == (403, ["totp", "recovery_code"])
    assert (wrong.status_code, wrong.json()["error"]) == (403, "wrong code")
    assert not OutgoingMail.objects.filter(email=NEW).exists()

    assert as_bob.post("/auth/email-changes", body | {"code": recovery[0]}).status_code == 200
    assert OutgoingMail.objects.filter(email=NEW).exists()


def test_email_change_needs_a_token_and_counts_as_a_credential_call(api, as_bob, settings):
    assert ask(api).status_code == 401
    settings.RATE_LIMIT_CREDENTIAL = 1

    assert ask(as_bob).status_code == 429


@pytest.mark.parametrize("body", [{}, {"email": "x", "password": "y"}, {"email": NEW}])
def test_invalid_request_for_an_email_change_is_refused(as_bob, body):
    response = as_bob.post("/auth/email-changes", body)

    assert (response.status_code, response.json()["error"]) == (400, "invalid request")


def test_mails_of_email_changes_are_limited_by_user_and_by_address(as_bob, as_ada):
    answers = {ask(as_bob).content for _ in range(7)}

    assert len(answers) == 1
    assert as_bob.post("/auth/email-changes/waiting").status_code == 200
    assert OutgoingMail.objects.count() == 10  # five requests, each with its notice
    ask(as_ada)
    assert OutgoingMail.objects.count() == 12


def test_link_changes_only_the_signed_in_users_account(api, as_ada, bob, token):
    """Someone who enters your address doesn't get it when you open the link."""
    body = {"token": token}
    refused = as_ada.post("/email-changes/redeem", body)

    assert (refused.status_code, refused.json()) == (403, {"error": "link of another user"})
    assert api.post("/email-changes/redeem", body).status_code == 401
    assert User.objects.get(pk=bob.pk).email == bob.email
    assert redeem(api, token).status_code == 204


def test_address_taken_meanwhile_is_409_and_keeps_the_link(api, token, new_user):
    new_user(NEW)
    response = redeem(api, token)

    assert (response.status_code, response.json()) == (409, {"error": "e-mail already registered"})
    assert EmailChange.objects.get().used_at is None


@pytest.mark.parametrize("action", ["redeem", "undo"])
def test_expired_and_invalid_tokens_of_email_changes_are_refused(api, token, action):
    EmailChange.objects.update(expires_at=EmailChange.objects.get().created_at)

    for bad in (token, "x", token[:-1] + "A"):
        response = redeem(api, bad, action)
        assert (response.status_code, response.json()) == (400, DEAD)


def test_link_ends_with_another_change_and_with_deactivation(api, as_bob, bob, token):
    ask(as_bob, "third@example.net")
    redeem(api, token_to("third@example.net"))
    assert redeem(api, token).json() == DEAD

    ask(as_bob, "fourth@example.net")
    fourth = token_to("fourth@example.net")
    User.objects.filter(pk=bob.pk).update(is_active=False)
    assert redeem(api, fourth).status_code == 401


def new_password(user):
    link = PasswordChange.objects.create(user=user, email=user.email)
    body = {"token": link.token, "password": "a new one, quite long"}
    assert API().post("/password-changes/redeem", body).status_code == 200


def log_out_everywhere(user):
    assert bearer(user).post("/auth/logout-everywhere").status_code == 204


@pytest.mark.parametrize("ends", [new_password, log_out_everywhere])
def test_link_ends_with_the_sessions_in_which_it_was_requested(api, as_bob, bob, token, ends):
    """The notice advises a new password, which must end what was requested with the old one."""
    ask(as_bob, "unsent@example.net")
    ends(bob)

    assert redeem(api, token).json() == DEAD
    assert User.objects.get(pk=bob.pk).email == bob.email
    assert mails_to("unsent@example.net") == []
    assert OutgoingMail.objects.get(email="unsent@example.net").state == MailState.DROPPED


def test_links_mails_and_locks_of_the_old_address_end(api, bob, ada, token):
    api.post("/password-changes", {"email": bob.email})
    password_token = token_to(bob.email)
    api.post("/password-changes", {"email": bob.email})  # still waits
    for _ in range(5):
        api.post("/auth/login", {"email": bob.email, "password": "wrong password"})
    redeem(api, token)
    Worker().work_round()

    body = {"token": password_token, "password": "a new one, quite long"}
    assert api.post("/password-changes/redeem", body).json() == DEAD
    assert not PasswordChange.objects.live().exists()
    waiting = OutgoingMail.objects.filter(kind="passwords.passwordchange").latest("created_at")
    assert waiting.state == MailState.DROPPED
    assert not Lockout.objects.exists()


def test_invitations_to_the_old_address_stay(api, bob, eve, token):
    Invitation.objects.invite(eve, bob.email)

    redeem(api, token)

    assert Invitation.objects.get().status == "pending"


def test_undo_restores_the_address_and_ends_every_session(api, as_bob, bob, undo):
    response = redeem(api, undo, "undo")

    assert (response.status_code, response.content) == (204, b"")
    assert as_bob.get("/auth/me").status_code == 401
    assert (login(bob.email), login(NEW)) == (200, 401)
    assert redeem(api, undo, "undo").json() == DEAD
    assert "was undone" in mails_to(bob.email)[-1].body


def test_undo_works_after_a_second_change(api, as_bob, bob, undo):
    """An attacker with the session changes the address twice; the first mailbox still wins, and
    what was mailed to the second undoes nothing any more."""
    ask(as_bob, "third@example.net")
    redeem(api, token_to("third@example.net"))
    second = token_to(NEW)

    assert redeem(api, undo, "undo").status_code == 204
    assert redeem(api, second, "undo").json() == DEAD
    bob.refresh_from_db()
    assert bob.email == "bob@example.com"
    assert bob.current_and_former_emails() == {bob.email, NEW, "third@example.net"}


@pytest.mark.parametrize("is_staff", [False, True])
def test_undo_ends_sessions_also_if_the_address_was_changed_back(api, as_bob, bob, undo, is_staff):
    User.objects.update(is_staff=is_staff)
    ask(as_bob, bob.email)
    redeem(api, token_to(bob.email))

    assert redeem(api, undo, "undo").status_code == 204
    assert as_bob.get("/auth/me").status_code == 401
    assert User.objects.get(pk=bob.pk).email == bob.email


def test_undo_is_400_if_another_user_has_the_address(api, bob, undo, new_user):
    new_user(bob.email)

    assert redeem(api, undo, "undo").json() == DEAD
    assert UndoEmailChange.objects.get().used_at is None


def test_undo_link_works_for_seven_days(api, undo, time_machine):
    time_machine.move_to(timezone.now() + timedelta(days=7, seconds=1))

    assert redeem(api, undo, "undo").json() == DEAD


def test_audit_log_has_request_change_and_undo(api, bob, undo):
    redeem(api, undo, "undo")

    events = list(AuditEvent.objects.order_by("pk").values_list("kind", "actor_id", "detail"))
    assert events == [
        (Kind.EMAIL_CHANGE_REQUESTED, bob.pk, {"new": NEW}),
        (Kind.EMAIL_CHANGED, bob.pk, {"old": bob.email}),
        (Kind.EMAIL_CHANGE_UNDONE, bob.pk, {"undone": NEW}),
    ]


def test_changeemail_changes_the_address_and_mails_both(bob, capsys):
    call_command("changeemail", "BOB@example.com", "Robert@Example.net")

    assert User.objects.get(pk=bob.pk).email == NEW
    for email in (bob.email, NEW):
        (notice,) = mails_to(email)
        assert "Our support team changed your e-mail address" in notice.body
    assert AuditEvent.objects.get(kind=Kind.EMAIL_CHANGED).subject == NEW
    assert f"to {NEW};" in capsys.readouterr().out


def links_of(user):
    return [
        UndoEmailChange.objects.create(user=user, email="before@example.com", new_email=user.email),
        EmailChange.objects.create(user=user, email="next@example.com", old_email=user.email),
        PasswordChange.objects.create(user=user, email=user.email),
    ]


def test_changeemail_clears_the_lock_without_an_actor(bob):
    """The lock ends by no act of the user. tests/privacy/test_ways_out.py has what else ends."""
    Lockout.objects.record_failure(bob.email)
    call_command("changeemail", bob.email, "new@example.com")

    assert AuditEvent.objects.get(kind=Kind.LOCK_CLEARED).actor_email == ""


def test_factor_reset_ends_email_change_links(bob):
    links = links_of(bob)
    Factors.objects.create(user=bob)
    Factors.objects.reset(bob, COMMAND)

    assert not any(type(link).objects.get(pk=link.pk).is_live() for link in links)


def test_staff_change_no_operators_address_but_their_own(new_user):
    operator, staff = new_user(is_superuser=True), new_user("staff@example.com", is_staff=True)

    with pytest.raises(PermissionDenied):
        operator.change_address(staff, "new@example.com")
    assert not User.objects.filter(email="new@example.com").exists()

    assert staff.change_address(staff, "new@example.com")
