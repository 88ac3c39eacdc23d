"""Requests of a directory at the same moment, and what happens while one is on its way."""

from functools import partial

import pytest

from accounts.models import Account, Role, User
from apikeys.models import ApiKey
from audit.actors import COMMAND
from audit.models import AuditEvent
from privacy.models import Erasure
from scim.models import ScimUser
from scim.protocol import UserStorage
from tests.privacy.conftest import statuses_while_erased
from tests.races import call_before_commit, race
from tests.scim.conftest import operation, problem

pytestmark = pytest.mark.django_db(transaction=True)
INACTIVE = operation(False, "active")


def test_of_two_that_create_an_address_one_does(directory):
    directory.get("Users")
    for number in range(10):
        email = f"new{number}@example.com"
        answers = race(*[partial(directory.create, email)] * 3)

        assert sorted(answer.status_code for answer in answers) == [201, 409, 409]
        assert {a.json()["scimType"] for a in answers if a.status_code == 409} == {"uniqueness"}
    assert User.objects.count() == 11
    kinds = AuditEvent.objects.filter(kind="user.provisioned")
    assert kinds.count() == ScimUser.objects.count() == 10


def test_of_two_admins_who_are_removed_at_once_one_stays(directory, ada, new_user):
    admin = new_user(account=ada.account, role=Role.ADMIN)
    admins = User.objects.filter(account=ada.account)
    for _ in range(10):
        answers = race(partial(directory.remove, ada), partial(directory.change, admin, INACTIVE))

        assert sorted(answer.status_code for answer in answers)[1] == 409
        assert admins.active_admins().count() == 1
        admins.update(is_active=True)


def test_key_that_ends_meanwhile_changes_nothing(directory, ada, bob):
    key = ApiKey.objects.get()
    directory.get("Users")

    answer = call_before_commit(
        lambda: key.revoke(ada), partial(directory.change, bob, operation("Rob", "name.givenName"))
    )

    assert answer.status_code == 401
    assert User.objects.get(pk=bob.pk).first_name == "Bob"


def test_company_that_is_deleted_meanwhile_gets_nobody_back(directory, ada, bob):
    directory.remove(bob)

    answer = call_before_commit(
        lambda: Erasure.objects.delete_company(ada.account, COMMAND),
        partial(directory.create, bob.email),
    )

    assert answer.status_code == 401
    assert not User.objects.filter(account=ada.account, is_active=True).exists()


def test_user_who_becomes_staff_meanwhile_is_left_alone(directory, bob):
    directory.get("Users")

    def promote():
        Account.objects.lock(bob.account_id)
        User.objects.filter(pk=bob.pk).update(is_staff=True)

    assert call_before_commit(promote, partial(directory.remove, bob)).status_code == 404
    assert User.objects.get(pk=bob.pk).is_active


def test_user_who_becomes_staff_after_being_found_is_refused(directory, bob, monkeypatch):
    find = UserStorage.find

    def find_and_promote(storage, user_id):
        user = find(storage, user_id)
        User.objects.filter(pk=bob.pk).update(is_staff=True)
        return user

    monkeypatch.setattr(UserStorage, "find", find_and_promote)
    answers = [directory.remove(bob), directory.change(bob, INACTIVE)]
    moved = directory.change(bob, operation("rob@example.com", "userName"))

    assert {problem(answer) for answer in [*answers, moved]} == {
        (403, None, "not permitted for your role")
    }
    assert User.objects.get(pk=bob.pk).is_active


def test_user_who_is_erased_meanwhile_is_not_found(directory, ada, new_user):
    """Before any query of the call, the user is erased: it answers 200 or 404, and never fails."""
    directory.get("Users")

    def call(user):
        User.objects.filter(pk=user.pk).update(account=ada.account)
        return partial(directory.change, user, operation("Rob", "name.givenName"), INACTIVE)

    assert set(statuses_while_erased(new_user, call)) == {200, 404}
