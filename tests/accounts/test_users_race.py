"""Admins who change users while another request changes or deletes what they act on."""

from functools import partial

import pytest

from accounts.models import Account, Role, User
from audit.models import AuditEvent
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


@pytest.mark.parametrize("change", [{"is_active": False}, {"name": "Engines"}])
def test_change_in_a_company_that_is_deleted_meanwhile_is_404(ada, bob, change):
    def delete_company():
        User.objects.all().delete()
        Account.objects.all().delete()

    path = "/account" if "name" in change else f"/users/{bob.pk}"

    answer = call_before_commit(delete_company, partial(bearer(ada).patch, path, change))

    assert answer.status_code == 404


def test_companys_new_names_at_once_are_recorded_one_after_another(ada):
    def rename():
        Account.objects.get(pk=ada.account_id).change(ada, name="Engines")

    call_before_commit(rename, partial(bearer(ada).patch, "/account", {"name": "Looms"}))

    events = AuditEvent.objects.filter(kind="company.changed").order_by("pk")
    assert [event.detail["old"] for event in events] == [ada.account.name, "Engines"]
