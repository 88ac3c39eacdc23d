"""GET /auth/me/data and `manage.py export`: all that is stored on a person, nothing of others'."""

import json
import re

import pytest
from django.apps import apps
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models import ForeignKey
from django.utils import timezone

from accounts.models import User
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from base.emails import CanonicalEmailField
from emailchanges.models import EmailChange
from privacy.export import EVENT, PROFILE, collect_user_data, export_user
from tests.assistants.conftest import call_tool
from tests.cast import PASSWORD
from tests.clients import bearer
from tests.privacy.conftest import EMAIL
from tests.tables import compare
from worker.rounds import Worker

pytestmark = pytest.mark.django_db

# Fields that point to a person, or name one, and are in no export: each with its reason.
NOT_EXPORTED = {
    "accounts.User.password": "a hash that nobody is shown",
    "accounts.User_groups.user": "which groups of the staff: is_staff says that there are",
    "accounts.User_user_permissions.user": "likewise",
    "admin.LogEntry.user": "Django's log of the back office repeats what the audit log says",
    "passwords.PasswordChange.user": "whose rows are chosen by it",
    "signin.UnlockLink.user": "whose rows are chosen by it",
    "emailchanges.EmailChange.user": "whose rows are chosen by it",
    "emailchanges.UndoEmailChange.user": "whose rows are chosen by it",
    "assistants.Grant.user": "whose rows are chosen by it",
    "apikeys.ApiKey.created_by": "whose rows are chosen by it",
    "scim.ScimUser.user": "whose rows are chosen by it",
    "sso.Identity.user": "whose rows are chosen by it",
    "signin.Factors.user": "whose rows are chosen by it",
    "signin.Device.user": "whose rows are chosen by it",
    "audit.AuditEvent.actor_id": "whose rows are chosen by it",
}
NAMING = {"email", "actor_id", "actor_email", "subject", "password", "first_name", "last_name"}


def points_to_a_person(field):
    return (
        (isinstance(field, ForeignKey) and field.related_model is User)
        or isinstance(field, CanonicalEmailField)
        or field.name in NAMING
    )


def pointing():
    return {
        f"{model._meta.app_label}.{model.__name__}.{field.name}"
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.concrete_fields
        if points_to_a_person(field)
    }


@pytest.fixture
def exported(bob, monkeypatch):
    asked = [(User, PROFILE), (AuditEvent, EVENT)]
    monkeypatch.setattr("privacy.export.values_of", lambda found, f: asked.append((found.model, f)))
    collect_user_data(bob, set())
    return {
        f"{model._meta.app_label}.{model.__name__}.{shown}"
        for model, names in asked
        for name in names
        for shown in (name, name.removesuffix("_id"))
    }


def test_every_field_that_points_to_a_person_is_exported_or_has_a_reason(exported):
    advice = "add the field to privacy/export.py, or to NOT_EXPORTED here with the reason"
    compare(pointing() & exported | NOT_EXPORTED.keys(), pointing(), advice)
    assert NOT_EXPORTED.keys() & exported == set(), "these fields are exported"


def test_caller_gets_all_that_is_stored(traces):
    answer = bearer(traces).get("/auth/me/data")
    data = json.loads(answer.getvalue())

    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    assert data["profile"]["email"] == EMAIL
    assert data["profile"]["account__name"] == "Analytical Engines"
    assert data["consultant"][0]["name"] == "Zebulon Quatermass"
    assert data["assistants"][0]["client__name"] == "Helper"
    assert data["manages"][0]["name"] == "Somebody"
    assert data["provisioning"][0]["external_id"] == "zebulon"
    assert {row["email"] for row in data["invitations_sent"]} == {
        "friend@example.net", "later@example.net"
    }  # fmt: skip
    assert {"passwords.passwordchange", "notice.role_changed"} <= {
        row["kind"] for row in data["mails"]
    }
    assert {"login.succeeded", "login.failed", "user.role"} <= {
        row["kind"] for row in data["trail"]
    }
    assert data["locks_and_devices"][0]["failures"] == 1
    empty = [name for name, rows in data["links"].items() if not rows]
    assert empty == ["undo links for e-mail changes", "e-mail changes"]


def test_rows_with_a_former_address_are_exported_unless_another_user_has_it(zeb, ada, new_user):
    bearer(ada).patch(f"/users/{zeb.pk}", {"role": "member"})
    Worker().work_round()
    call_command("changeemail", EMAIL, "second@example.net")
    before = export_user(User.objects.get(pk=zeb.pk), COMMAND)
    new_user(EMAIL)
    after = export_user(User.objects.get(pk=zeb.pk), COMMAND)

    assert "user.role" in {row["kind"] for row in before["trail"]}
    assert EMAIL in {row["email"] for row in before["mails"]}
    assert EMAIL not in {row["email"] for row in after["mails"]}
    assert after["trail"][1:] == before["trail"]  # but for the export itself


def test_export_does_not_tell_which_address_is_taken(bob, eve, time_machine):
    """Whatever address a change was asked for, free, taken or one's own: the rest is equal."""
    time_machine.move_to(timezone.now(), tick=False)
    exports = []
    for wanted in ("free@example.net", eve.email, bob.email):
        with transaction.atomic():
            asked = {"email": wanted, "password": PASSWORD}
            assert bearer(bob).post("/auth/email-changes", asked).status_code == 200
            before = bearer(bob).get("/auth/me/data").getvalue().decode()
            Worker().work_round()
            after = bearer(bob).get("/auth/me/data").getvalue().decode()
            exports.append([
                re.sub(r'"request_id":"[^"]*"', "", text).replace(f'"new":"{wanted}"', "")
                for text in (before, after)
            ])  # fmt: skip
            transaction.set_rollback(True)

    assert exports[0] == exports[1] == exports[2]


def test_change_that_was_made_is_exported(bob):
    facts = {"old_email": bob.email, "token_version": bob.token_version}
    EmailChange.objects.create(user=bob, email="new@example.net", **facts).redeem(bob)

    (made,) = export_user(User.objects.get(pk=bob.pk), COMMAND)["links"]["e-mail changes"]
    assert (made["old_email"], made["email"]) == (bob.email, "new@example.net")


def test_nothing_secret_and_nothing_of_others(traces):
    text = str(export_user(traces, COMMAND))

    assert "argon2" not in text
    assert "#token=" not in text
    assert "eve@example.org" not in text


def test_export_log_assistant_and_mail_show_who_did_it_by_one_rule(ada, bob, eve, operator):
    """Colleagues by name, operators and other companies not at all; from where, of one's own acts,
    and to an admin of those of the company's users."""
    as_ada, as_bob, as_eve = (bearer(user) for user in (ada, bob, eve))
    for name, client in [
        ("ada", as_ada.client), ("bob", as_bob.client), ("eve", as_eve.client), ("op", operator)
    ]:  # fmt: skip
        client.defaults |= {"REMOTE_ADDR": f"192.0.2.{ord(name[0])}", "HTTP_USER_AGENT": name}
    as_bob.patch("/auth/me", {"first_name": "Robert"})
    as_ada.patch(f"/users/{bob.pk}", {"role": "admin"})
    press = {"_do": "make_member", "post": "yes", "confirmed": bob.email}
    operator.post(f"/admin/accounts/user/{bob.pk}/change/", press)
    as_eve.post("/invitations", {"email": bob.email})
    Worker().work_round()

    rest = as_ada.get("/audit").json()
    assistant = call_tool(as_ada, "list_events")["structuredContent"]
    told = [one.body for one in mail.outbox if one.to == [bob.email]]
    shown = {
        (row["kind"], row["actor_email"], row["address"], row["agent"]): row["request_id"]
        for row in export_user(bob, COMMAND)["trail"]
    }

    assert {key for key, request_id in shown.items() if request_id} == {
        ("profile.changed", bob.email, "192.0.2.98", "bob")
    }
    assert {key for key, request_id in shown.items() if not request_id} == {
        ("user.role", ada.email, "", ""),
        ("user.role", "", "", ""),
        ("invitation.created", "", "", ""),
        ("person.exported", "", "", ""),
    }
    assert [(row["kind"], row["actor"], row["address"]) for row in rest["items"]] == [
        ("user.role", "", ""),
        ("user.role", ada.email, "192.0.2.97"),
        ("profile.changed", bob.email, "192.0.2.98"),
    ]
    assert assistant == rest
    assert ["Ada Lovelace" in body for body in told].count(True) == 1
    assert "op@" not in "".join(told).replace("\u2060", "")


def test_needs_a_token_and_counts_as_a_credential_call(api, as_bob, settings):
    assert api.get("/auth/me/data").status_code == 401
    settings.RATE_LIMIT_CREDENTIAL = 1

    assert as_bob.get("/auth/me/data").status_code == 429


def test_command_writes_the_export(bob, capsys):
    call_command("export", bob.email)

    assert json.loads(capsys.readouterr().out)["profile"]["email"] == bob.email
    assert AuditEvent.objects.filter(kind=Kind.DATA_EXPORTED, subject=bob.email).count() == 1
    with pytest.raises(CommandError, match="No user has"):
        call_command("export", "nobody@example.com")


def erased_first(user, *more, **named):
    """The data of somebody whose erasure comes between finding and reading."""
    User.objects.filter(pk=user.pk).delete()
    return export_user(user, *more, **named)


def test_export_of_a_user_erased_meanwhile_fails(as_ada, ada, bob, monkeypatch):
    monkeypatch.setattr("privacy.management.commands.export.export_user", erased_first)
    monkeypatch.setattr("privacy.views.export_user", erased_first)

    with pytest.raises(CommandError, match="No user has the address"):
        call_command("export", bob.email)
    assert as_ada.get("/auth/me/data?before=1").status_code == 401
    assert not AuditEvent.objects.filter(kind=Kind.DATA_EXPORTED).exists()
