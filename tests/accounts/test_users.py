"""GET /users, and GET and PATCH /users/{id}."""

import pytest

from accounts.models import Consultant, Role, User
from tests.cast import PASSWORD
from tests.clients import bearer

pytestmark = pytest.mark.django_db
FOR_ADMINS = {"is_active": True, "last_sign_in_at": None, "has_second_factor": False}


def emails(response):
    assert response.status_code == 200, response.content
    return [item["email"] for item in response.json()["items"]]


@pytest.fixture
def people(new_user, ada):
    """Four more users of Ada's company."""
    names = [("Grace", "Hopper"), ("Åsa", "Öberg"), ("Alan", "Turing"), ("Alonzo", "Church")]
    return [
        new_user(f"user{n}@example.com", first_name=first, last_name=last, account=ada.account)
        for n, (first, last) in enumerate(names)
    ]


def test_users_are_listed_by_name(as_ada, bob, eve, people):
    body = as_ada.get("/users").json()

    names = [f"{item['first_name']} {item['last_name']}" for item in body["items"]]
    assert names[:3] == ["Bob Boole", "Alonzo Church", "Grace Hopper"]
    assert names[3:] == ["Ada Lovelace", "Åsa Öberg", "Alan Turing"]
    assert (body["page"], body["per_page"], body["total"]) == (1, 20, 6)


def test_listed_user_has_the_fields_of_me_and_those_for_admins(as_ada, ada):
    profile = Consultant.objects.create(account=ada.account, user=ada)
    Consultant.objects.create(account=ada.account, manager=ada)

    (item,) = as_ada.get("/users").json()["items"]

    assert item == as_ada.get("/auth/me").json() | FOR_ADMINS
    assert item == as_ada.get(f"/users/{ada.pk}").json()
    assert (item["consultant_id"], item["is_manager"]) == (str(profile.pk), True)


def test_users_are_listed_in_pages(as_ada, people):
    whole = emails(as_ada.get("/users"))

    assert emails(as_ada.get("/users?page=2&per_page=2")) == whole[2:4]
    assert emails(as_ada.get("/users?page=3&per_page=2")) == whole[4:]
    assert emails(as_ada.get("/users?page=4&per_page=2")) == []


@pytest.mark.parametrize("text", ["hopp", "GRACE", "user0@", "grace hopper", "Hopper, Grace"[:6]])
def test_search_finds_parts_of_names_and_address(as_ada, people, text):
    assert emails(as_ada.get("/users", data={"search": text})) == ["user0@example.com"]


@pytest.mark.parametrize("text", ["grace turing", "%", "_", "\\", "'", "hopper'--"])
def test_search_takes_wildcards_as_they_are(as_ada, people, text):
    assert emails(as_ada.get("/users", data={"search": text})) == []


@pytest.mark.parametrize(
    ("query", "name"),
    [("is_active=false", "bob"), ("is_active=true", "ada"), ("second_factor=false", "bob"),
     ("second_factor=true", "ada"), ("role=admin", "ada"), ("role=member&search=b", "bob")],
)  # fmt: skip
def test_users_are_filtered_by_flags_and_role(as_ada, ada, bob, eve, query, name):
    User.objects.filter(pk=ada.pk).update(has_second_factor=True)
    User.objects.filter(pk=bob.pk).update(is_active=False)

    assert emails(as_ada.get(f"/users?{query}")) == [f"{name}@example.com"]


def test_users_are_sorted_by_name_or_last_sign_in(api, as_ada, bob, people):
    for user in (people[1], bob):
        api.post("/auth/login", {"email": user.email, "password": PASSWORD})

    by_name = emails(as_ada.get("/users?sort=name"))
    assert emails(as_ada.get("/users")) == by_name
    assert emails(as_ada.get("/users?sort=-name")) == by_name[::-1]
    assert emails(as_ada.get("/users?sort=last_sign_in"))[:2] == [people[1].email, bob.email]
    newest = as_ada.get("/users?sort=-last_sign_in&per_page=2").json()["items"]
    assert [item["email"] for item in newest] == [bob.email, people[1].email]
    assert newest[0]["last_sign_in_at"] > newest[1]["last_sign_in_at"]


def test_member_gains_and_loses_rights_at_once(as_ada, as_bob, bob):
    response = as_ada.patch(f"/users/{bob.pk}", {"role": "admin"})

    assert (response.status_code, response.json()["role"]) == (200, "admin")
    assert as_bob.get("/users").status_code == 200

    as_ada.patch(f"/users/{bob.pk}", {"role": "member"})

    assert as_bob.get("/users").status_code == 403


def test_deactivated_user_is_signed_out_at_once(as_ada, as_bob, bob, api):
    credentials = {"email": bob.email, "password": PASSWORD}
    api.post("/auth/login", credentials)
    deactivated = as_ada.patch(f"/users/{bob.pk}", {"is_active": False})
    assert (deactivated.status_code, deactivated.json()["is_active"]) == (200, False)
    assert as_bob.get("/auth/me").status_code == 401
    assert api.post("/auth/login", credentials).status_code == 401

    as_ada.patch(f"/users/{bob.pk}", {"is_active": True})

    assert as_bob.get("/auth/me").status_code == 401
    assert api.post("/auth/refresh").status_code == 401
    assert api.post("/auth/login", credentials).status_code == 200


@pytest.mark.parametrize(
    ("field", "value"),
    [("role", "boss"), ("role", 1), ("role", None), ("role", ["admin"]), ("role", ""),
     ("role", "\ud800"), ("role", "admin\x00"), ("is_active", "false"), ("is_active", 0),
     ("is_active", None), ("is_active", {})],
)  # fmt: skip
def test_invalid_change_of_a_user_names_its_field(as_ada, bob, field, value):
    response = as_ada.patch(f"/users/{bob.pk}", {field: value})

    assert response.status_code == 400
    assert list(response.json()["fields"]) == [field]
    assert User.objects.get(pk=bob.pk).is_active


@pytest.mark.parametrize("change", [{"role": "member"}, {"is_active": False}])
def test_last_active_admin_cannot_be_removed(as_ada, ada, new_user, change):
    new_user(account=ada.account, role=Role.ADMIN, is_active=False)

    response = as_ada.patch(f"/users/{ada.pk}", change)

    assert response.status_code == 409
    assert response.json() == {"error": "the last admin cannot be removed"}
    assert as_ada.get("/users?role=admin").json()["total"] == 2


@pytest.mark.parametrize(
    ("change", "status"), [({"role": "member"}, 403), ({"is_active": False}, 401)]
)
def test_admin_may_leave_if_another_admin_stays(as_ada, ada, new_user, change, status):
    colleague = new_user(account=ada.account, role=Role.ADMIN)

    assert as_ada.patch(f"/users/{ada.pk}", change).status_code == 200
    assert bearer(colleague).get("/users").status_code == 200
    assert as_ada.get("/users").status_code == status
