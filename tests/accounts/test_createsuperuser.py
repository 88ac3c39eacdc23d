"""`manage.py createsuperuser`, and prompts of commands that are interrupted."""

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from audit.actors import COMMAND
from invitations.models import Invitation
from tests.accounts.helpers import Terminal

pytestmark = pytest.mark.django_db


def test_createsuperuser_takes_two_variables_and_refuses_a_taken_address(monkeypatch):
    monkeypatch.setenv("DJANGO_SUPERUSER_EMAIL", "Root@Example.com")
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "correct horse battery")
    monkeypatch.setattr("sys.stdin", None)  # as with a closed standard input
    call_command("createsuperuser", interactive=False, verbosity=0)

    user = User.objects.get()
    assert (user.email, user.account.name) == ("root@example.com", "Operators")
    assert (user.is_staff, user.is_superuser, user.role) == (True, True, "admin")
    assert user.check_password("correct horse battery")
    with pytest.raises(CommandError, match="already taken"):
        call_command("createsuperuser", interactive=False, verbosity=0)


def test_createsuperuser_prompts_for_address_and_password(monkeypatch):
    answers = iter(["root@example.com"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    monkeypatch.setattr("getpass.getpass", lambda *_: "correct horse battery")

    call_command("createsuperuser", stdin=Terminal(), verbosity=0)

    assert User.objects.get().email == "root@example.com"


def test_createsuperuser_revokes_invitations_of_the_address_to_the_operators(
    monkeypatch, operator, ada
):
    company = User.objects.get(is_superuser=True).account
    for account in (company, ada.account):
        Invitation(account=account, email="root@example.com").send(COMMAND)
    monkeypatch.setenv("DJANGO_SUPERUSER_EMAIL", "root@example.com")
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "correct horse battery")

    call_command("createsuperuser", interactive=False, verbosity=0)

    assert Invitation.objects.get(account=company).status == "revoked"
    assert Invitation.objects.get(account=ada.account).status == "pending"


@pytest.mark.parametrize("key", [KeyboardInterrupt, EOFError])
def test_ctrl_c_and_ctrl_d_at_a_question_end_in_one_line(monkeypatch, bob, key):
    def press(*args, **kwargs):
        raise key

    monkeypatch.setattr("builtins.input", press)
    monkeypatch.setattr("getpass.getpass", press)

    for command in ("erase", "changepassword"):
        with pytest.raises(CommandError, match="Nothing was done"):
            call_command(command, bob.email)
    with pytest.raises((CommandError, SystemExit)):
        call_command("createsuperuser", stdin=Terminal())
    assert not User.objects.filter(is_superuser=True).exists()
