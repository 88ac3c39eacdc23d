"""The operators' company: a flag marks it, no other company has its name, and who may act on it."""

from functools import partial

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction

from accounts.models import Account, User
from accounts.models.users import IS_PROTECTED
from tests.assistants.conftest import call_tool
from tests.races import call_before_commit, race
from tests.signin.helpers import PERSON

pytestmark = pytest.mark.django_db

NAME_ERRORS = ["This name is taken by the operators."]


def test_sign_up_refuses_the_operators_name_and_keeps_the_link(api, signup_link):
    body = PERSON | {"token": signup_link.token, "account_name": "operators"}

    answer = api.post("/auth/complete-signup", body)

    assert answer.json() == {
        "error": "invalid request",
        "fields": {"account_name": NAME_ERRORS},
        "codes": {"account_name": ["reserved"]},
    }
    assert not User.objects.exists()
    assert api.post("/auth/complete-signup", body | {"account_name": "Free"}).status_code == 200


def test_back_office_refuses_the_operators_name_for_others_only(operator, ada):
    page = f"/admin/accounts/account/{ada.account_id}/change/"
    answer = operator.post(page, {"name": "OPERATORS", "is_operators": "on"})
    operators = Account.objects.get_or_create_operators()
    own_page = f"/admin/accounts/account/{operators.pk}/change/"

    assert answer.context["adminform"].form.errors == {"name": NAME_ERRORS}
    assert operator.post(own_page, {"name": "Operators"}).status_code == 302


def test_superuser_joins_the_operators_and_no_company_of_that_name(ada):
    Account.objects.filter(pk=ada.account_id).update(name="Operators")
    root = User.objects.create_superuser("root@example.com", None)

    assert root.account_id != ada.account_id
    assert root.account.is_operators


def test_there_is_at_most_one_operators_company():
    Account.objects.get_or_create_operators()

    with pytest.raises(IntegrityError), transaction.atomic():
        Account.objects.create(name="More", is_operators=True)


@pytest.mark.django_db(transaction=True)
def test_first_superusers_created_at_once_share_one_company():
    emails = [f"{n}@example.com" for n in range(6)]

    race(*[lambda email=email: User.objects.create_superuser(email, None) for email in emails])

    assert Account.objects.get().users.count() == 6


ACTS = [
    lambda user, actor: user.update_role_or_active(actor, is_active=False),
    lambda user, actor: user.sign_out(actor),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", ACTS)
def test_user_made_staff_meanwhile_cannot_be_changed(ada, bob, act):
    """The rule is in the UPDATE, which sees the current row, not the one that the request read."""
    make_staff = partial(User.objects.filter(pk=bob.pk).update, is_staff=True)

    with pytest.raises(PermissionDenied):
        call_before_commit(make_staff, lambda: act(User.objects.get(pk=bob.pk), ada))

    assert User.objects.values().get(pk=bob.pk)["token_version"] == bob.token_version


@pytest.mark.parametrize("changes", [{"is_active": False}, {"is_active": True}, {}])
def test_refusals_are_the_same_by_rest_and_mcp(as_ada, bob, changes):
    """They are the same also for changes to the values that the user has."""
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    answer = as_ada.patch(f"/users/{bob.pk}", changes)
    result = call_tool(as_ada, "update_user", user_id=str(bob.pk), **changes)

    assert (answer.status_code, answer.json()) == (403, {"error": "not permitted for your role"})
    assert result["isError"]
    assert result["content"][0]["text"] == answer.content.decode()


def test_model_and_query_agree_on_protected_users(new_user, ada):
    new_user("staff@example.com", is_staff=True)
    new_user("root@example.com", is_superuser=True)
    new_user("clerk@example.com", account=Account.objects.get_or_create_operators())

    protected = {user.email for user in User.objects.all() if user.is_protected}

    assert protected == {user.email for user in User.objects.filter(IS_PROTECTED)}
    assert len(protected) == 3
