"""GET and PATCH /auth/me, and tokens whose user has changed."""

import pytest

from accounts.models import Consultant, User
from tests.clients import bearer

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


def test_me_shows_the_consultant_profile_and_whether_the_user_is_a_manager(ada, bob):
    profile = Consultant.objects.create(account=ada.account, user=bob, manager=ada)

    assert bearer(bob).get("/auth/me").json()["consultant_id"] == str(profile.pk)
    assert bearer(bob).get("/auth/me").json()["is_manager"] is False
    assert bearer(ada).get("/auth/me").json()["is_manager"] is True


@pytest.mark.parametrize("change", [{"is_active": False}, {"token_version": 9}, {"id": "0" * 32}])
def test_token_of_a_changed_or_deleted_user_is_refused(as_ada, ada, change):
    User.objects.filter(pk=ada.pk).update(**change)  # another id, as if the user were deleted

    answer = as_ada.get("/auth/me")

    assert (answer.status_code, answer.json()) == (401, MISSING)


def test_patch_of_me_changes_names_and_language(as_ada):
    answer = as_ada.patch(
        "/auth/me", {"first_name": "Augusta", "settings": {"language": "de"}, "role": "member"}
    )

    assert (answer.json()["first_name"], answer.json()["role"]) == ("Augusta", "admin")
    assert as_ada.get("/auth/me").json() == answer.json()
    assert answer.json()["settings"] == {"language": "de"}


@pytest.mark.parametrize(
    ("field", "value"),
    [("first_name", ""), ("first_name", None), ("last_name", ["x"]), ("settings", "de"),
     ("settings", {"language": "tlh"}), ("settings", {"language": 1})],
)  # fmt: skip
def test_patch_of_me_names_the_invalid_field(as_ada, field, value):
    before = as_ada.get("/auth/me").json()

    answer = as_ada.patch("/auth/me", {field: value})

    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])
    assert as_ada.get("/auth/me").json() == before
