"""GET /pages/without-second-factor: whom an admin would keep out by requiring one."""

from accounts.models import User

PATH = "/pages/without-second-factor"


def test_admin_sees_who_of_the_company_has_none(as_ada, ada, bob, eve):
    User.objects.filter(pk=ada.pk).update(has_second_factor=True)

    body = as_ada.get(PATH).json()

    assert [item["email"] for item in body["items"]] == ["bob@example.com"]
    assert body["total"] == 1


def test_those_who_are_deactivated_do_not_count(as_ada, bob):
    User.objects.filter(pk=bob.pk).update(is_active=False)

    assert [item["email"] for item in as_ada.get(PATH).json()["items"]] == ["ada@example.com"]


def test_page_of_the_list_costs_no_query_for_each_person(
    as_ada, new_user, ada, django_assert_num_queries
):
    for _ in range(5):
        new_user(account=ada.account)

    with django_assert_num_queries(3):
        assert len(as_ada.get(PATH).json()["items"]) == 6


def test_members_and_strangers_do_not(as_bob, api):
    assert as_bob.get(PATH).status_code == 403
    assert api.get(PATH).status_code == 401


def test_it_is_read_alone(as_ada):
    assert as_ada.post(PATH, {}).status_code == 405
