"""Two admins of a company demote each other at the same moment."""

from functools import partial

import pytest

from accounts.models import Role, User
from tests.clients import bearer
from tests.races import race

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
