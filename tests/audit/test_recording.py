"""The audit log: what is recorded, in which transaction, and that it stays as it is."""

import pytest

import audit
from audit.models import AuditEvent, Kind
from base.caller import command_caller, current_caller, shell_user
from tests.cast import PASSWORD

pytestmark = pytest.mark.django_db


def kinds():
    return list(AuditEvent.objects.order_by("id").values_list("kind", flat=True))


def login(api, email, password=PASSWORD):
    return api.post("/auth/login", {"email": email, "password": password}).status_code


def test_log_in_is_recorded_with_who_and_from_where(api, ada):
    api.headers["user-agent"] = "Browser\x1b[31m/1" + "x" * 500
    login(api, "ada@example.com")
    record = AuditEvent.objects.get()

    assert (record.kind, record.actor_id) == (Kind.LOGIN_SUCCEEDED, ada.pk)
    assert (record.actor_email, record.account_id) == (ada.email, ada.account_id)
    assert record.address == "127.0.0.1"
    assert record.agent == ("Browser[31m/1" + "x" * 500)[:254]


def test_failures_lock_and_its_clearing_are_recorded(api, ada, settings):
    settings.LOCKOUT_THRESHOLD = 2
    for _ in range(3):
        login(api, "Ada@example.com", "wrong password")

    assert kinds() == ["login.failed", "lock.set", "login.failed", "login.locked"]
    assert set(AuditEvent.objects.values_list("subject", flat=True)) == {"ada@example.com"}
    assert not AuditEvent.objects.filter(detail__icontains="wrong").exists()


def test_profile_change_and_logout_everywhere_are_recorded(as_ada, ada):
    as_ada.patch("/auth/me", {"first_name": "Augusta"})
    as_ada.post("/auth/logout-everywhere")

    assert kinds() == ["profile.changed", "logout.everywhere"]
    assert AuditEvent.objects.get(kind="profile.changed").detail == {"fields": ["first_name"]}


def test_request_is_recorded_by_its_id(api, ada):
    answer = api.post("/auth/login", {"email": ada.email, "password": PASSWORD})

    assert AuditEvent.objects.get().request_id == answer["X-Request-ID"]
    assert AuditEvent.objects.get().shell_user == ""


@pytest.mark.parametrize(("environment", "name"), [({"SUDO_USER": "grace"}, "grace"), ({}, None)])
def test_command_is_recorded_with_who_ran_it(monkeypatch, environment, name):
    monkeypatch.delenv("SUDO_USER", raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    token = current_caller.set(command_caller())
    audit.record(Kind.LOCK_CLEARED, subject="ada@example.com")
    current_caller.reset(token)

    assert AuditEvent.objects.get().shell_user == (name or shell_user())
    assert shell_user()
