"""What operators do for a user who has lost a mailbox ends what its reader could use."""

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import call_command

from accounts.models import User
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from emailchanges.models import EmailChange, UndoEmailChange
from passwords.models import PasswordChange
from signin.factors.models import Factors
from throttling.models import Lockout

pytestmark = pytest.mark.django_db


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


def test_staff_change_no_operators_address(new_user):
    operator, staff = new_user(is_superuser=True), new_user("staff@example.com", is_staff=True)

    with pytest.raises(PermissionDenied):
        operator.change_address(staff, "new@example.com")

    assert not User.objects.filter(email="new@example.com").exists()
