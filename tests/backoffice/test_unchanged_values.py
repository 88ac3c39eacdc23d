"""A change that changes nothing is in no audit log, by whatever way it is made."""

import pytest

from accounts.models import User
from audit.models import AuditEvent, Kind
from tests.clients import bearer
from tests.races import race

pytestmark = pytest.mark.django_db


def page_of(row):
    return f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/"


def save(operator, row, **changes):
    """Send the row's form as the browser shows it, but for the changes."""
    form = operator.get(page_of(row)).context["adminform"].form
    shown = {name: form.get_initial_for_field(form.fields[name], name) for name in form.fields}
    sent = {name: value for name, value in shown.items() if value not in (None, False)}
    answer = operator.post(page_of(row), sent | changes)
    assert answer.status_code == 302, answer.context["errors"]


def act(operator, name, user):
    chosen = {"action": name, "_selected_action": [str(user.pk)], "post": "yes"}
    assert operator.post("/admin/accounts/user/", chosen).status_code == 302


# A way, with what stands already and with something else; Bob is a member, active, and speaks "en".
WAYS = {
    "PATCH /auth/me": (
        lambda ada, bob, op: bearer(bob).patch("/auth/me", {"first_name": "Bob"}),
        lambda ada, bob, op: bearer(bob).patch("/auth/me", {"first_name": "Robert"}),
    ),
    "PATCH /users/{id}": (
        lambda ada, bob, op: ada.patch(f"/users/{bob.pk}", {"role": "member", "is_active": True}),
        lambda ada, bob, op: ada.patch(f"/users/{bob.pk}", {"role": "admin", "is_active": True}),
    ),
    "action": (
        lambda ada, bob, op: act(op, "make_member", bob),
        lambda ada, bob, op: act(op, "make_admin", bob),
    ),
    "form of a user": (
        lambda ada, bob, op: save(op, bob),
        lambda ada, bob, op: save(op, bob, first_name="Robert"),
    ),
    "form of a company": (
        lambda ada, bob, op: save(op, bob.account),
        lambda ada, bob, op: save(op, bob.account, name="Difference Engines"),
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_unchanged_value_is_not_recorded(as_ada, bob, operator, way):
    WAYS[way][0](as_ada, bob, operator)
    assert not AuditEvent.objects.exists()

    WAYS[way][1](as_ada, bob, operator)

    assert AuditEvent.objects.count() == 1


def test_of_several_fields_those_that_changed_are_recorded(as_bob, bob):
    as_bob.patch("/auth/me", {"first_name": "Bob", "last_name": "Bull"})

    assert AuditEvent.objects.get().detail == {"fields": ["last_name"]}


def test_user_who_is_inactive_already_keeps_the_token_version(as_ada, bob):
    as_ada.patch(f"/users/{bob.pk}", {"is_active": False})
    bob.refresh_from_db()
    as_ada.patch(f"/users/{bob.pk}", {"is_active": False})

    assert User.objects.get(pk=bob.pk).token_version == bob.token_version
    assert AuditEvent.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_equal_changes_that_race_one_is_recorded(as_ada):
    race(*[lambda: as_ada.patch("/auth/me", {"first_name": "Augusta"})] * 8)

    assert AuditEvent.objects.filter(kind=Kind.PROFILE_CHANGED).count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_equal_changes_of_role_that_race_one_is_recorded(as_ada, bob):
    race(*[lambda: as_ada.patch(f"/users/{bob.pk}", {"role": "admin"})] * 8)

    assert AuditEvent.objects.filter(kind=Kind.ROLE_CHANGED).count() == 1
