"""GET and PATCH /account: the caller's company, its name and its time zone."""

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


def test_admin_sets_the_time_zone(as_ada, as_bob):
    assert as_bob.get("/account").json()["time_zone"] == ""
    for time_zone in ("Europe/Berlin", "Europe/Berlin", ""):
        answer = as_ada.patch("/account", {"time_zone": time_zone})
        assert (answer.status_code, answer.json()["time_zone"]) == (200, time_zone)

    assert as_bob.patch("/account", {"time_zone": "Europe/Rome"}).status_code == 403
    events = AuditEvent.objects.filter(kind=Kind.COMPANY_CHANGED).order_by("pk")
    details = [event.detail for event in events]
    assert details == [{"time_zone": "Europe/Berlin"}, {"time_zone": ""}]


@pytest.mark.parametrize("time_zone", ["Mars/Base", "europe/berlin", "../UTC", "UTC+1", 5, None])
def test_unknown_time_zone_is_refused(as_ada, time_zone):
    answer = as_ada.patch("/account", {"time_zone": time_zone})

    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["time_zone"])
    if isinstance(time_zone, str):
        assert answer.json()["fields"]["time_zone"][0].startswith("Unknown time zone.")
    assert Account.objects.get().time_zone == ""


def test_only_a_superuser_renames_the_operators(new_user):
    operators = Account.objects.get_or_create_operators()
    admin = new_user("support@example.com", account=operators, role="admin")

    for body in ({"name": "Other"}, {"time_zone": "Europe/Rome"}, {}):
        assert bearer(admin).patch("/account", body).status_code == 403

    assert Account.objects.get(pk=operators.pk).name == "Operators"


def test_refused_second_factor_rule_leaves_the_company_name(as_ada, ada):
    answer = as_ada.patch("/account", {"name": "Other", "second_factor": "required"})

    assert answer.status_code == 409
    assert Account.objects.get(pk=ada.account_id).name == "Analytical Engines"
    assert not AuditEvent.objects.filter(kind=Kind.COMPANY_CHANGED).exists()
