"""GET /audit: a company's audit log for its admins."""

import uuid
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from accounts.models import Account, Role
from audit.models import AuditEvent, Kind
from tests.clients import bearer

pytestmark = pytest.mark.django_db


def events(api, **query):
    answer = api.get("/audit", data=query)
    assert answer.status_code == 200, answer.content
    return [(event["kind"], event["subject"]) for event in answer.json()["items"]]


def test_acts_of_admins_are_listed_newest_first(as_ada, bob):
    as_ada.patch(f"/users/{bob.pk}", {"role": "admin"})
    as_ada.patch("/auth/me", {"first_name": "Augusta"})

    answer = as_ada.get("/audit").json()

    assert (answer["page"], answer["per_page"], answer["total"]) == (1, 20, 2)
    newest, oldest = answer["items"]
    assert newest["kind"] == "profile.changed"
    assert oldest["actor_name"] == "Augusta Lovelace"
    assert oldest["subject_name"] == bob.get_full_name()
    assert (oldest["kind"], oldest["actor"], oldest["subject"]) == (
        "user.role", "ada@example.com", "bob@example.com"
    )  # fmt: skip
    assert (oldest["address"], oldest["via"]) == ("127.0.0.1", None)
    assert oldest["detail"] == {"role": "admin"}


def test_events_of_another_company_are_not_listed(as_ada, as_eve, bob, eve):
    as_ada.patch(f"/users/{bob.pk}", {"role": "admin"})
    as_eve.patch("/auth/me", {"first_name": "Eva"})

    assert events(as_eve) == [("profile.changed", eve.email)]
    assert events(as_eve, user_id=bob.pk) == []


def test_events_of_no_company_are_listed_for_no_admin(as_ada, ada):
    AuditEvent.objects.create(kind=Kind.LOGIN_FAILED, subject=ada.email)
    AuditEvent.objects.create(kind=Kind.KEY_PUBLISHED)

    assert events(as_ada) == []


def test_events_are_filtered_by_user_kind_group_and_time(as_ada, ada, bob):
    as_ada.patch(f"/users/{bob.pk}", {"role": "admin"})
    as_ada.patch("/auth/me", {"first_name": "Augusta"})
    role, profile = ("user.role", bob.email), ("profile.changed", ada.email)

    assert events(as_ada, user_id=bob.pk) == [role]
    assert events(as_ada, user_id=ada.pk) == [profile, role]
    assert events(as_ada, kind="profile.changed") == [profile]
    assert events(as_ada, group="people") == [role]  # kinds that belong together
    assert events(as_ada, group="account") == [profile]
    assert events(as_ada, group="apps") == []
    hour_ago = (timezone.now() - timedelta(hours=1)).isoformat()
    assert events(as_ada, since=hour_ago) == [profile, role]
    assert events(as_ada, until=hour_ago) == []
    assert events(as_ada, per_page=1, page=2) == [role]


def test_filter_by_user_finds_events_under_former_addresses(as_ada, bob, new_user):
    as_ada.patch(f"/users/{bob.pk}", {"role": "admin"})
    call_command("changeemail", bob.email, "second@example.net")
    call_command("changeemail", "second@example.net", "third@example.net")
    role = ("user.role", "bob@example.com")

    assert [subject for _, subject in events(as_ada, user_id=bob.pk)] == [
        "third@example.net", "second@example.net", "bob@example.com"
    ]  # fmt: skip
    successor = new_user(bob.email, account=bob.account)
    assert role in events(as_ada, user_id=bob.pk)
    assert events(as_ada, user_id=successor.pk) == []


def test_address_changed_by_an_operator_is_no_former_one_of_the_operator(new_user):
    operators = {"account": Account.objects.get_or_create_operators()}
    operators |= {"is_staff": True, "is_superuser": True}
    boss = new_user("boss@example.com", role=Role.ADMIN, **operators)
    colleague = new_user("theirs@example.com", **operators)
    bearer(colleague).patch("/auth/me", {"first_name": "Another"})
    colleague.change_address(boss, "another@example.com")

    assert boss.current_and_former_emails() == {"boss@example.com"}
    assert events(bearer(boss), user_id=boss.pk) == [("email.changed", "another@example.com")]
    assert ("profile.changed", "theirs@example.com") in events(bearer(boss), user_id=colleague.pk)


def test_event_through_an_assistant_has_via_mcp(as_ada, ada):
    detail = {"via": "mcp", "claims": {"client": "Claudia"}, "fields": ["first_name"]}
    AuditEvent.objects.create(
        kind=Kind.PROFILE_CHANGED, actor_id=ada.pk, account_id=ada.account_id, detail=detail
    )

    event = as_ada.get("/audit").json()["items"][0]

    assert event["via"] == "mcp"
    assert event["detail"] == {"claims": {"client": "Claudia"}, "fields": ["first_name"]}


def test_page_of_events_is_read_by_an_index(ada):
    of_others = (
        AuditEvent(kind=Kind.LOGIN_SUCCEEDED, account_id=uuid.uuid4()) for _ in range(5000)
    )
    AuditEvent.objects.bulk_create(of_others)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE audit_record")
    assert "audit_company" in AuditEvent.objects.filter(account_id=ada.account_id)[:20].explain()
