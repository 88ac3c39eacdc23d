"""GET and PATCH /account: the caller's company and its name."""

import pytest

from accounts.models import Account
from audit.models import AuditEvent, Kind
from tests.clients import bearer

pytestmark = pytest.mark.django_db


def test_members_see_the_company(as_ada, as_bob, ada):
    answer = as_bob.get("/account")

    assert answer.status_code == 200
    assert answer.json() == as_ada.get("/account").json()
    assert answer.json()["id"] == str(ada.account_id)
    assert {"id", "name", "created_at"} <= answer.json().keys()


def test_admin_renames_the_company(as_ada, ada):
    answer = as_ada.patch("/account", {"name": "  Difference Engines "})

    assert (answer.status_code, answer.json()["name"]) == (200, "Difference Engines")
    assert Account.objects.get(pk=ada.account_id).name == "Difference Engines"
    event = AuditEvent.objects.get(kind=Kind.COMPANY_CHANGED)
    assert event.detail == {"old": "Analytical Engines", "name": "Difference Engines"}


@pytest.mark.parametrize(
    "name", ["", " ", "x" * 201, "www.evil.test", "http://evil.test", "a\nb", 5, None,
             "Operators", "operators", " OPERATORS "],
)  # fmt: skip
def test_company_name_has_the_rules_of_sign_up(as_ada, name):
    answer = as_ada.patch("/account", {"name": name})

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid request")
    assert list(answer.json()["fields"]) == ["name"]
    assert Account.objects.get().name == "Analytical Engines"


def test_only_a_superuser_renames_the_operators(new_user):
    operators = Account.objects.get_or_create_operators()
    admin = new_user("support@example.com", account=operators, role="admin")

    for body in ({"name": "Other"}, {}):
        assert bearer(admin).patch("/account", body).status_code == 403

    assert Account.objects.get(pk=operators.pk).name == "Operators"


def test_refused_second_factor_rule_leaves_the_company_name(as_ada, ada):
    answer = as_ada.patch("/account", {"name": "Other", "second_factor": "required"})

    assert answer.status_code == 409
    assert Account.objects.get(pk=ada.account_id).name == "Analytical Engines"
    assert not AuditEvent.objects.filter(kind=Kind.COMPANY_CHANGED).exists()
