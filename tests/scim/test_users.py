"""Users of the company, as its directory makes, changes and removes them."""

import pytest

from tests.scim.conftest import Directory, operation, problem, prove, stored

pytestmark = pytest.mark.django_db


def test_created_user_is_a_member_without_a_password(directory, ada, new_key):
    name = {"givenName": "Ann", "familyName": "Bee"}

    answer = directory.create("New@Example.com", externalId="A-1", name=name)

    user, body = stored("new@example.com"), answer.json()
    assert (answer.status_code, user.role, user.account) == (201, "member", ada.account)
    assert (user.first_name, user.last_name, user.is_active) == ("Ann", "Bee", True)
    assert not user.has_usable_password()
    assert answer["Location"] == body["meta"]["location"]
    assert body["meta"]["created"] == body["meta"]["lastModified"]
    assert (body["id"], body["externalId"], body["userName"]) == (
        str(user.pk), "A-1", "new@example.com"
    )  # fmt: skip
    assert body["emails"] == [{"value": "new@example.com", "type": "work", "primary": True}]
    assert directory.get(f"Users/{user.pk}").json() == body


def test_key_of_another_company_sees_no_one(directory, bob, eve, new_key):
    prove(eve.account, "example.org")
    other = Directory(new_key(eve)[1])

    unknown = other.get("Users/5f0f6f5e-0000-4000-8000-000000000000")
    answers = [other.get(f"Users/{bob.pk}"), other.change(bob, operation(False, "active"))]
    answers += [other.put(bob, userName="x@example.org"), other.remove(bob)]
    assert {answer.content for answer in answers} == {unknown.content}
    assert problem(unknown)[0] == 404
    assert other.get("Users").json()["totalResults"] == 1
