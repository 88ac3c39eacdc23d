"""A superuser gives somebody another address in the back office; other staff do not."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User
from audit.models import Kind, Record
from mail.outbox import OutgoingMail

pytestmark = pytest.mark.django_db
NEW = "robert@example.net"


def save(client, user, email):
    data = {"email": email, "first_name": "Bob", "last_name": "Boole", "language": "en"}
    return client.post(f"/admin/accounts/user/{user.pk}/change/", data, follow=True)


def test_superuser_changes_an_address_and_both_are_told(operator, bob):
    save(operator, bob, " Robert@Example.net")

    assert User.objects.get(pk=bob.pk).email == NEW
    told = OutgoingMail.objects.filter(kind="notice.email_is_changed")
    assert set(told.values_list("email", flat=True)) == {bob.email, NEW}
    changed = Record.objects.get(kind=Kind.EMAIL_CHANGED)
    assert (changed.actor_email, changed.subject) == ("op@example.com", NEW)


def test_taken_address_is_refused(operator, bob, ada):
    page = save(operator, bob, ada.email).content.decode()

    assert "already exists" in page
    assert User.objects.get(pk=bob.pk).email == bob.email
    assert not OutgoingMail.objects.exists()


def test_other_staff_cannot(bob, new_user):
    support = new_user("support@example.com", is_staff=True)
    names = ["view_user", "change_user"]
    support.user_permissions.set(Permission.objects.filter(codename__in=names))
    client = Client()
    client.force_login(support)
    save(client, bob, NEW)

    assert User.objects.get(pk=bob.pk).email == bob.email
