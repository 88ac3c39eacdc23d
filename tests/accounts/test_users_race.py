"""Admins who change users while another request changes or deletes what they act on."""

from functools import partial

import pytest

from accounts.models import Account, Role, User
from tests.clients import bearer
from tests.races import call_before_commit, race

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("change", [{"role": "member"}, {"is_active": False}])
def test_of_two_admins_who_remove_each_other_at_once_one_stays(ada, new_user, change):
    bob = new_user(account=ada.account, role=Role.ADMIN)
    admins = User.objects.filter(account=ada.account)
    as_ada, as_bob = bearer(ada), bearer(bob)
    for _ in range(20):
        answers = race(
            partial(as_ada.patch, f"/users/{bob.pk}", change),
            partial(as_bob.patch, f"/users/{ada.pk}", change),
        )

        assert sorted(answer.status_code for answer in answers)[0] == 200
        assert admins.active_admins().count() == 1
        admins.update(role=Role.ADMIN, is_active=True, token_version=1)


def test_change_in_a_company_that_is_deleted_meanwhile_is_404(ada, bob):
    def delete_company():
        User.objects.all().delete()
        Account.objects.all().delete()

    change = partial(bearer(ada).patch, f"/users/{bob.pk}", {"is_active": False})

    assert call_before_commit(delete_company, change).status_code == 404
