"""Requests in the shapes that Entra ID and Okta document and send."""

import pytest

from accounts.models import User
from scim.models import ScimUser
from tests.scim.conftest import CORE, Directory, operation, stored

pytestmark = pytest.mark.django_db
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
BY_ENTRA = {
    "schemas": [CORE, ENTERPRISE],
    "externalId": "ann.bee",
    "userName": "Ann.Bee@example.com",
    "active": True,
    "displayName": "Ann Bee",
    "emails": [{"primary": True, "type": "work", "value": "ann@elsewhere.net"}],
    "meta": {"resourceType": "User"},
    "name": {"formatted": "Ann Bee", "familyName": "Bee", "givenName": "Ann"},
    "title": "Engineer",
    "roles": [],
    "addresses": [{"primary": False, "type": "work", "country": "Sweden"}],
    ENTERPRISE: {"department": "Engines", "manager": {"value": "26118915"}},
}
BY_OKTA = {
    "schemas": [CORE],
    "userName": "ann.bee@example.com",
    "name": {"givenName": "Ann", "familyName": "Bee"},
    "emails": [{"primary": True, "value": "ann.bee@example.com", "type": "work"}],
    "displayName": "Ann Bee",
    "locale": "en-US",
    "externalId": "00ujl29u0le5T6Aj10h7",
    "groups": [],
    "password": "1mz050nq",
    "active": True,
}


def look_up(directory, email):
    text = f'userName eq "{email}"'
    body = directory.get("Users", data={"filter": text, "startIndex": 1, "count": 100}).json()
    return [user["id"] for user in body["Resources"]]


def test_life_of_a_user_of_entra(directory: Directory):
    assert look_up(directory, "5f0f6f5e-0000-4000-8000-000000000000") == []  # its connection test
    assert look_up(directory, "Ann.Bee@example.com") == []
    made = directory.post("Users", BY_ENTRA)
    user = stored("ann.bee@example.com")
    assert (made.status_code, user.first_name, user.last_name) == (201, "Ann", "Bee")
    assert look_up(directory, "Ann.Bee@example.com") == [str(user.pk)]

    answer = directory.change(
        user,
        operation("Sea", "name.familyName", "Replace"),
        operation("ann.sea@example.com", 'emails[type eq "work"].value', "Add"),
        operation("Chief", "title", "Add"),
        operation("Boilers", f"{ENTERPRISE}:department", "Add"),
        operation("Main Street", 'addresses[type eq "work"].streetAddress', "Replace"),
        operation([{"$ref": None, "value": "26118915"}], "manager", "Add"),
        operation("Ann Sea", "displayName", "Replace"),
    )
    assert (answer.status_code, answer.json()["name"]["familyName"]) == (200, "Sea")
    dotted = {"name.givenName": "Anna", "externalId": "anna", f"{ENTERPRISE}:department": "x"}
    assert directory.change(user, operation(dotted, op="Add")).json()["displayName"] == "Anna Sea"
    assert ScimUser.objects.get().external_id == "anna"
    renamed = directory.change(user, operation("anna.sea@example.com", "userName", "Replace"))
    assert renamed.json()["emails"][0]["value"] == "anna.sea@example.com"
    for value, is_active in [("False", False), ("True", True), (False, False)]:
        answer = directory.change(user, operation(value, "active", "Replace"))
        assert answer.json()["active"] is is_active
    assert directory.remove(user).status_code == 204
    assert look_up(directory, "anna.sea@example.com") == []


def test_life_of_a_user_of_okta(directory):
    assert look_up(directory, "ann.bee@example.com") == []
    made = directory.post("Users", BY_OKTA)
    user = stored("ann.bee@example.com")
    assert (made.status_code, user.has_usable_password()) == (201, False)

    whole = made.json() | BY_OKTA | {"name": {"givenName": "Ann", "familyName": "Sea"}}
    answer = directory.put(user, **whole)
    assert (answer.status_code, answer.json()["displayName"]) == (200, "Ann Sea")
    for is_active in (False, True, False):
        answer = directory.change(user, operation({"active": is_active}))
        assert (answer.status_code, answer.json()["active"]) == (200, is_active)
    assert User.objects.get(pk=user.pk).is_active is False
    assert directory.put(user, **whole).json()["active"] is True
