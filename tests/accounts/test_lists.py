"""The lists of a company: for its admins only, with strict queries, and three statements a page."""

import uuid

import pytest

from invitations.models import Invitation

pytestmark = pytest.mark.django_db
PATHS = ["/users", "/users/{bob}", "/users/{unknown}", "/invitations", "/audit", "/pages/overview"]


@pytest.mark.parametrize("method", ["get", "patch"])
@pytest.mark.parametrize("path", PATHS)
def test_lists_refuse_members_and_callers_without_token(as_bob, api, bob, method, path):
    path = path.format(bob=bob.pk, unknown=uuid.uuid4())
    response = as_bob.call(method, path)

    expected = {"error": "not permitted for your role"}
    assert (response.status_code, response.json()) == (403, expected)
    assert api.call(method, path).status_code == 401


@pytest.mark.parametrize(
    "query",
    ["users?page=0", "users?page=-1", "users?page=x", "users?page=", "users?per_page=0",
     "users?per_page=1.5", "users?role=boss", "users?role=", "users?is_active=",
     "users?is_active=1", "users?is_active=True", "users?second_factor=1", "users?search=%00",
     "users?search=a%0ab", "invitations?status=gone", "invitations?status=",
     "invitations?status=%00", "invitations?page=0", "invitations?per_page=a", "audit?user_id=x",
     "audit?kind=x", "audit?since=x", "audit?until=x", "audit?group=x", "audit?page=x"],
)  # fmt: skip
def test_invalid_query_of_a_list_names_its_field(as_ada, query):
    response = as_ada.get(f"/{query}")

    assert response.status_code == 400
    assert response.json()["error"] == "invalid request"
    assert list(response.json()["fields"]) == [query.partition("?")[2].partition("=")[0]]


@pytest.mark.parametrize(
    "query",
    ["users", "users?per_page=2", "users?search=a&role=member", "invitations?status=pending",
     "pages/overview"],
)  # fmt: skip
def test_page_of_a_list_takes_three_queries(
    as_ada, ada, new_user, query, django_assert_num_queries
):
    for number in range(4):
        new_user(account=ada.account)
        Invitation.objects.invite(ada, f"{number}@example.org")

    with django_assert_num_queries(3):  # the caller, the count, the rows
        assert as_ada.get(f"/{query}").status_code == 200
