"""GET and PATCH /auth/me, and what a bearer token must be."""

import pytest

from accounts.models import Consultant, User
from tests.conftest import bearer

pytestmark = pytest.mark.django_db

MISSING = {"error": "missing or invalid token"}


def test_me_returns_the_caller(as_ada, ada):
    answer = as_ada.get("/auth/me")

    assert answer.status_code == 200
    assert answer.json() == {
        "id": str(ada.pk),
        "account_id": str(ada.account_id),
        "email": "ada@example.com",
        "first_name": "Ada",
        "last_name": "Lovelace",
        "role": "admin",
        "created_at": ada.created_at.isoformat().replace("+00:00", "Z"),
        "consultant_id": None,
        "settings": {"language": "en"},
        "is_manager": False,
    }


def test_shows_the_consultant_profile_and_who_is_managed(ada, bob):
    profile = Consultant.objects.create(account=ada.account, user=bob, manager=ada)

    assert bearer(bob).get("/auth/me").json()["consultant_id"] == str(profile.pk)
    assert bearer(bob).get("/auth/me").json()["is_manager"] is False
    assert bearer(ada).get("/auth/me").json()["is_manager"] is True


@pytest.mark.parametrize("change", [{"is_active": False}, {"token_version": 9}])
def test_token_stops_working_with_its_user(as_ada, ada, change):
    User.objects.filter(pk=ada.pk).update(**change)

    assert as_ada.get("/auth/me").json() == MISSING


def test_deleted_user_is_401(as_ada, ada):
    ada.delete()

    assert as_ada.get("/auth/me").status_code == 401


def test_patch_changes_names_and_language(as_ada):
    answer = as_ada.patch(
        "/auth/me", {"first_name": "Augusta", "settings": {"language": "de"}, "role": "member"}
    )

    assert (answer.json()["first_name"], answer.json()["role"]) == ("Augusta", "admin")
    assert as_ada.get("/auth/me").json() == answer.json()
    assert answer.json()["settings"] == {"language": "de"}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"first_name": ""}, ["first_name"]),
        ({"last_name": ["x"]}, ["last_name"]),
        ({"settings": {"language": "tlh"}}, ["settings"]),
        ({"settings": {"language": 1}}, ["settings"]),
        ({"settings": "de"}, ["settings"]),
        ({"first_name": None}, ["first_name"]),
    ],
)
def test_patch_names_the_bad_field(as_ada, body, fields):
    before = as_ada.get("/auth/me").json()

    answer = as_ada.patch("/auth/me", body)

    assert (answer.status_code, list(answer.json()["fields"])) == (400, fields)
    assert as_ada.get("/auth/me").json() == before
