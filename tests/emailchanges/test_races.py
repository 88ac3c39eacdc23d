"""Changes of an address at the same moment as others, a log-in or an undo."""

from functools import partial

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from audit.actors import COMMAND
from emailchanges.models import EmailChange, UndoEmailChange
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from privacy.models import Erasure
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.races import call_before_commit, race

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = 10


def post(path, **body):
    return lambda: API().post(path, body).status_code


def redeem(link):
    """A call that redeems the link as its user, whose access token is made before the race."""
    client = bearer(link.user)
    return lambda: client.post("/email-changes/redeem", {"token": link.token}).status_code


def link(user, email):
    facts = {"old_email": user.email, "token_version": user.token_version}
    return EmailChange.objects.create(user=user, email=email, **facts)


def test_email_change_races_with_a_log_in(bob):
    for number in range(TIMES):
        bob.refresh_from_db()
        old, new = bob.email, f"bob{number}@example.net"
        change = redeem(link(bob, new))
        change_status, login_status = race(
            change, post("/auth/login", email=old, password=PASSWORD)
        )

        assert (change_status, login_status in {200, 401}) == (204, True)
        assert post("/auth/login", email=old, password=PASSWORD)() == 401
        assert post("/auth/login", email=new, password=PASSWORD)() == 200


def test_undo_races_with_a_second_change(bob):
    for number in range(TIMES):
        User.objects.filter(pk=bob.pk).update(email=f"second{number}@example.net")
        bob.refresh_from_db()
        undo = UndoEmailChange.objects.create(
            user=bob, email="bob@example.com", new_email=bob.email
        )
        second = link(bob, f"third{number}@example.net")
        undone, changed = race(post("/email-changes/undo", token=undo.token), redeem(second))

        assert (undone, changed in {204, 400, 401}) == (204, True)
        assert User.objects.get(pk=bob.pk).email == "bob@example.com"
        assert not EmailChange.objects.live().exists()
        assert not UndoEmailChange.objects.live().exists()


def test_email_change_races_with_a_new_password(bob):
    """Both lock the user and a link, in the same order, so that they cannot deadlock."""
    for number in range(TIMES):
        bob.refresh_from_db()
        password = PasswordChange.objects.create(user=bob, email=bob.email)
        calls = [
            redeem(link(bob, f"bob{number}@example.net")),
            post("/password-changes/redeem", token=password.token, password=PASSWORD),
        ]
        changed, redeemed = race(*calls)

        assert (changed in {204, 400, 401}, redeemed in {200, 400}) == (True, True)


def test_two_email_changes_race_and_one_is_repeated(bob):
    """Two links, one opened twice: one change takes place, and its repeat is refused."""
    for number in range(TIMES):
        bob.refresh_from_db()
        first, second = (redeem(link(bob, f"{side}{number}@example.net")) for side in "ab")
        answers = race(first, second, first)

        assert sorted(answers) == [204, 400, 400]
        winner = "b" if answers[1] == 204 else "a"
        assert User.objects.get(pk=bob.pk).email == f"{winner}{number}@example.net"
        assert UndoEmailChange.objects.filter(user=bob).count() == number + 1


def test_command_for_a_user_who_is_being_erased_says_that_nobody_has_the_address(bob):
    change = partial(call_command, "changeemail", bob.email, "new@example.com")

    with pytest.raises(CommandError, match=f"No user has the address {bob.email}"):
        call_before_commit(lambda: Erasure.objects.erase_user(bob, COMMAND), change)
    assert not OutgoingMail.objects.filter(email="new@example.com").exists()
