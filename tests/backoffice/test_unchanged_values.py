"""A change to equal values is not recorded, by whatever call it is made."""

import pytest

from accounts.models import User
from audit.models import AuditEvent, Kind
from tests.backoffice.helpers import page_of, take_action
from tests.clients import bearer
from tests.races import race

pytestmark = pytest.mark.django_db
ACTIVE = {"is_active": True}


def save(operator, row, **changes):
    """Post the row's form as the browser shows it, with these changes."""
    form = operator.get(page_of(row)).context["adminform"].form
    initial = {name: form.get_initial_for_field(form.fields[name], name) for name in form.fields}
    form_data = {name: value for name, value in initial.items() if value not in (None, False)}
    shown = {f"initial-{name}": value for name, value in form_data.items()}
    answer = operator.post(page_of(row), shown | form_data | changes)
    assert answer.status_code == 302, answer.context["errors"]


# Calls that change Bob to equal values, and to others. He is an active member with the language en.
CHANGES = {
    "PATCH /auth/me": (
        lambda ada, bob, operator: bearer(bob).patch("/auth/me", {"first_name": "Bob"}),
        lambda ada, bob, operator: bearer(bob).patch("/auth/me", {"first_name": "Robert"}),
    ),
    "PATCH /users/{id}": (
        lambda ada, bob, operator: ada.patch(f"/users/{bob.pk}", ACTIVE | {"role": "member"}),
        lambda ada, bob, operator: ada.patch(f"/users/{bob.pk}", ACTIVE | {"role": "admin"}),
    ),
    "action": (
        lambda ada, bob, operator: take_action(operator, "make_member", bob),
        lambda ada, bob, operator: take_action(operator, "make_admin", bob),
    ),
    "form of a user": (
        lambda ada, bob, operator: save(operator, bob),
        lambda ada, bob, operator: save(operator, bob, first_name="Robert"),
    ),
    "form of a company": (
        lambda ada, bob, operator: save(operator, bob.account),
        lambda ada, bob, operator: save(operator, bob.account, name="Difference Engines"),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_unchanged_value_is_not_recorded(as_ada, bob, operator, change):
    CHANGES[change][0](as_ada, bob, operator)
    assert not AuditEvent.objects.exists()

    CHANGES[change][1](as_ada, bob, operator)

    assert AuditEvent.objects.count() == 1


def test_event_names_changed_fields_only(as_bob, bob):
    as_bob.patch("/auth/me", {"first_name": "Bob", "last_name": "Bull"})

    assert AuditEvent.objects.get().detail == {"fields": ["last_name"]}


def test_user_who_is_inactive_already_keeps_the_token_version(as_ada, bob):
    as_ada.patch(f"/users/{bob.pk}", {"is_active": False})
    bob.refresh_from_db()
    as_ada.patch(f"/users/{bob.pk}", {"is_active": False})

    assert User.objects.get(pk=bob.pk).token_version == bob.token_version
    assert AuditEvent.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_racing_equal_changes_are_recorded_once(as_ada):
    race(*[lambda: as_ada.patch("/auth/me", {"first_name": "Augusta"})] * 8)

    assert AuditEvent.objects.filter(kind=Kind.PROFILE_CHANGED).count() == 1


@pytest.mark.django_db(transaction=True)
def test_racing_equal_changes_of_role_are_recorded_once(as_ada, bob):
    race(*[lambda: as_ada.patch(f"/users/{bob.pk}", {"role": "admin"})] * 8)

    assert AuditEvent.objects.filter(kind=Kind.ROLE_CHANGED).count() == 1
