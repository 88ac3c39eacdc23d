"""Making, listing and revoking keys: by admins, commands, restores and erasure."""

from datetime import timedelta
from io import StringIO
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from accounts.models import Account
from api.views import Scope
from apikeys.models import MAX_LIVE_KEYS, ApiKey
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from backoffice.management.commands.afterrestore import end_everything
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from privacy.models import Erasure
from tests.apikeys.conftest import client_of
from tests.cast import PASSWORD
from tests.clients import bearer
from tests.mailbox import mailed
from tests.races import call_before_commit, race
from tests.signin.factors.helpers import code, with_app
from tests.test_mails import visible

pytestmark = pytest.mark.django_db
PATH = "/account/api-keys"
BODY = {"name": "Payroll", "scopes": ["users:read"], "password": PASSWORD}


def test_admin_makes_a_key_that_is_shown_once(as_ada, ada):
    body = BODY | {"scopes": ["scim", "users:read", "scim"], "days": 365}
    answer = as_ada.post(PATH, body)
    made = answer.json()
    key = made.pop("key")
    [listed] = as_ada.get(PATH).json()["items"]

    assert answer.status_code == 201
    assert listed == made | {"last_used_at": None}
    assert (made["name"], made["scopes"]) == ("Payroll", ["scim", "users:read"])
    assert (made["created_by"], made["created_by_name"]) == (str(ada.pk), "Ada Lovelace")
    assert made["last_four"] == key[-4:]
    assert client_of(key).get("/users").status_code == 200
    row = ApiKey.objects.get()
    assert timedelta(days=364) < row.expires_at - timezone.now() <= timedelta(days=365)


def test_a_key_works_for_ninety_days_by_default(as_ada):
    as_ada.post(PATH, BODY)

    row = ApiKey.objects.get()
    assert row.expires_at - row.created_at == pytest.approx(timedelta(days=90), abs=timedelta(1))


@pytest.mark.parametrize(
    "wrong",
    [{"days": days} for days in (0, 366, "90", 1.5, 90.0, True, None)]
    + [{"scopes": scopes} for scopes in ([], ["users:write"], "users:read", [1], None)]
    + [{"name": name} for name in ("", "x" * 61, "see www.example.com", "\u202egnp", "--", 5)],
)  # fmt: skip
def test_invalid_body_is_refused(as_ada, wrong):
    answer = as_ada.post(PATH, BODY | wrong)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid request")
    assert list(answer.json()["fields"]) == list(wrong)
    assert not ApiKey.objects.exists()


def test_making_a_key_takes_the_password(as_ada, ada):
    answer = as_ada.post(PATH, BODY | {"password": "a wrong one"})

    assert (answer.status_code, answer.json()) == (403, {"error": "wrong password"})
    with_app(ada)
    answer = as_ada.post(PATH, BODY)
    assert (answer.status_code, answer.json()["error"]) == (403, "second factor required")
    assert not ApiKey.objects.exists()
    assert as_ada.post(PATH, BODY | {"code": code()}).status_code == 201


def test_members_and_keys_make_and_see_none(as_bob, by_key):
    assert as_bob.post(PATH, BODY).status_code == as_bob.get(PATH).status_code == 403
    assert by_key().post(PATH, BODY).status_code == 401


def test_other_companies_see_and_revoke_none(as_eve, new_key):
    row, key = new_key()

    assert as_eve.get(PATH).json()["total"] == 0
    assert as_eve.delete(f"{PATH}/{row.pk}").status_code == 404
    assert client_of(key).get("/users").status_code == 200


def test_list_is_newest_first_with_ended_ones(as_ada, new_key):
    for name in ("first", "second", "third"):
        new_key(name=name)
    as_ada.delete(f"{PATH}/{ApiKey.objects.get(name='second').pk}")

    items = as_ada.get(PATH).json()["items"]

    assert [item["name"] for item in items] == ["third", "second", "first"]
    assert [bool(item["revoked_at"]) for item in items] == [False, True, False]
    assert not any("key" in item or "digest" in item for item in items)


def test_list_can_be_of_one_scope(as_ada, new_key):
    new_key(Scope.SCIM, Scope.USERS_READ, name="directory")
    new_key(Scope.USERS_READ, name="payroll")

    items = as_ada.get(f"{PATH}?scope=scim").json()["items"]

    assert [item["name"] for item in items] == ["directory"]
    assert as_ada.get(f"{PATH}?scope=sc").status_code == 400


def test_revoked_key_is_refused_at_once_and_again_is_204(as_ada, new_key, ada):
    row, key = new_key()
    path = f"{PATH}/{row.pk}"

    assert [as_ada.delete(path).status_code for _ in range(2)] == [204, 204]

    assert client_of(key).get("/users").status_code == 401
    [event] = AuditEvent.objects.filter(kind=Kind.API_KEY_REVOKED)
    assert (event.actor_id, event.subject_id, event.subject) == (ada.pk, row.pk, "API key Payroll")


def test_making_is_recorded_without_the_key(as_ada):
    key = as_ada.post(PATH, BODY).json()["key"]

    event = as_ada.get("/audit?group=company").json()["items"][0]
    assert (event["kind"], event["subject"]) == ("apikey.made", "API key Payroll")
    assert event["detail"].keys() == {"scopes", "expires_at", "last_four"}
    assert key not in str(event)


def test_every_admin_is_mailed(as_ada, ada, new_user):
    new_user("second@example.com", account=ada.account, role="admin", language="sv")
    new_user("inactive@example.com", account=ada.account, role="admin", is_active=False)

    as_ada.post(PATH, BODY | {"scopes": [scope.value for scope in Scope], "days": 1})

    kind = OutgoingMail.objects.filter(kind="notice.api_key_made")
    assert {mail.email for mail in kind} == {ada.email, "second@example.com"}
    kind.exclude(language="en").delete()
    text = visible(mailed().body)
    end = ApiKey.objects.get().expires_at
    permissions = ["Read people", "Invite people", "Read the activity", "Follow changes"]
    permissions += ["Provisioning (SCIM)"]
    assert all(f"- {permission}" in text for permission in permissions)
    assert all(word in text for word in ["Payroll", "Ada Lovelace", f"{end:%Y-%m-%d}"])


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])  # +14, -11 hours
def test_mail_has_the_day_of_the_companys_time_zone(as_ada, ada, zone):
    Account.objects.update(time_zone=zone)

    as_ada.post(PATH, BODY)

    end = ApiKey.objects.get().expires_at.astimezone(ZoneInfo(zone))
    assert f"Until {end:%Y-%m-%d}" in visible(mailed().body)


@pytest.mark.django_db(transaction=True)
def test_company_has_fifty_keys_that_work(ada, new_key):
    for _ in range(MAX_LIVE_KEYS - 1):
        new_key()
    ApiKey.objects.filter(pk=ApiKey.objects.first().pk).update(expires_at=timezone.now())
    new_key()

    answers = race(*[lambda: bearer(ada).post(PATH, BODY)] * 3)

    assert sorted(answer.status_code for answer in answers) == [201, 409, 409]
    assert {"error": "too many API keys"} in [answer.json() for answer in answers]


def test_revoking_ends_the_keys_open_invitations(new_key, ada, as_ada):
    row, key = new_key(Scope.INVITATIONS_WRITE)
    client_of(key).post("/invitations", {"email": "c@example.com"})
    own = Invitation.objects.invite(ada, "d@example.com")

    as_ada.delete(f"{PATH}/{row.pk}")

    revoked = Invitation.objects.get(email="c@example.com")
    assert revoked.revoked_at
    own.refresh_from_db()
    assert own.is_live()
    [event] = AuditEvent.objects.filter(kind=Kind.INVITATION_REVOKED)
    assert event.actor_id == ada.pk


@pytest.mark.django_db(transaction=True)
def test_invitation_that_races_a_revocation_is_refused(new_key):
    row, key = new_key(Scope.INVITATIONS_WRITE)

    answer = call_before_commit(
        lambda: row.revoke(COMMAND),
        lambda: client_of(key).post("/invitations", {"email": "c@example.com"}),
    )

    assert answer.status_code == 401
    assert not Invitation.objects.exists()


def test_deleting_a_company_deletes_its_keys_and_their_names(new_key, ada, by_key):
    row, key = new_key(Scope.INVITATIONS_WRITE)
    client_of(key).post("/invitations", {"email": "c@example.com"})

    erasure = Erasure.objects.delete_company(ada.account, COMMAND)
    assert not ApiKey.objects.exists()
    while erasure.process_batch():
        pass

    is_named = Q(actor_email__contains="Payroll") | Q(subject__contains="Payroll")
    is_named |= Q(subject_id=row.pk) | Q(actor_id=row.pk)
    assert not AuditEvent.objects.filter(is_named).exists()
    assert not Account.objects.filter(pk=ada.account_id).exists()


def test_restore_ends_every_key(new_key):
    _, key = new_key()

    assert end_everything()["API keys"] == 1
    assert client_of(key).get("/users").status_code == 401


def test_keys_are_pruned_with_the_log_of_their_end(new_key, settings):
    long_ago = timezone.now() - timedelta(days=settings.AUDIT_KEEP_DAYS, seconds=1)
    expired, revoked, kept = (new_key()[0] for _ in range(3))
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=long_ago)
    ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=long_ago)

    assert ApiKey.objects.prune_expired() == 2
    assert list(ApiKey.objects.all()) == [kept]


def test_admins_and_support_read_a_keys_last_problem(as_ada, new_key, operator):
    row, _ = new_key()

    row.record_problem("x" * 201)

    [item] = as_ada.get(PATH).json()["items"]
    assert (item["last_problem"], bool(item["last_problem_at"])) == ("x" * 200, True)
    assert "x" * 200 in operator.get(reverse("admin:apikeys_apikey_changelist")).content.decode()
    ApiKey.objects.get().clear_problem()
    [item] = as_ada.get(PATH).json()["items"]
    assert (item["last_problem"], item["last_problem_at"]) == ("", None)


def test_a_broken_directory_does_not_write_with_each_request(new_key, django_assert_num_queries):
    new_key()

    def problems(*texts):
        """What is stored after requests that failed for these reasons, or succeeded."""
        for text in texts:
            key = ApiKey.objects.get()
            key.record_problem(text) if text else key.clear_problem()
            yield ApiKey.objects.get().last_problem

    assert list(problems("first", "second", "", "third", "", "fourth")) == [
        "first", "first", "", "third", "third", "third"
    ]  # fmt: skip
    with django_assert_num_queries(0):
        ApiKey(last_problem="third", last_problem_at=timezone.now()).record_problem("fifth")
        ApiKey().clear_problem()
    a_minute_ago = timezone.now() - timedelta(seconds=61)
    ApiKey.objects.update(last_problem_at=a_minute_ago, problem_cleared_at=a_minute_ago)
    assert list(problems("sixth", "", "seventh")) == ["sixth", "", "seventh"]
    ahead = timezone.now() + timedelta(days=1)
    ApiKey.objects.update(last_problem_at=ahead, problem_cleared_at=ahead)
    assert list(problems("eighth", "")) == ["eighth", ""]


@pytest.mark.django_db(transaction=True)
def test_of_two_problems_at_once_the_first_is_stored(new_key):
    new_key()
    first, second = ApiKey.objects.get(), ApiKey.objects.get()

    call_before_commit(
        lambda: first.record_problem("first"), lambda: second.record_problem("second")
    )

    assert ApiKey.objects.get().last_problem == "first"


def run(*words):
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_command_makes_a_key_and_prints_it_alone(db):
    key = run("createkey", "SIEM", "--scope", "events:read", "--scope", "users:read").strip()

    row = ApiKey.objects.get()
    assert (row.account, row.scopes) == (None, ["events:read", "users:read"])
    assert client_of(key).get("/events").status_code == 200
    [event] = AuditEvent.objects.filter(kind=Kind.API_KEY_MADE)
    assert (event.account_id, event.subject) == (None, "API key SIEM")


@pytest.mark.parametrize(
    "words",
    [("--scope", "audit:read"), ("--scope", "invitations:write"), ("--scope", "scim"), (),
     ("--scope", "users:read", "--days", "366"), ("--scope", "users:read", "--days", "0")],
)  # fmt: skip
def test_command_makes_no_other_key(db, words):
    with pytest.raises(CommandError):
        run("createkey", "SIEM", *words)
    with pytest.raises(CommandError, match="name"):
        run("createkey", "www.example.com", "--scope", "users:read")
    assert not ApiKey.objects.exists()


def test_command_lists_and_revokes_keys(new_key):
    row, key = new_key(Scope.USERS_READ)

    listed = run("apikeys")
    revoked = [run("apikeys", "--revoke", str(row.pk)) for _ in range(2)]

    assert all(word in listed for word in (str(row.pk), "Analytical Engines", "users:read"))
    assert key[:-6] not in listed
    assert revoked[0] == f"{row} is revoked, with its open invitations.\n"
    assert revoked[1] == f"{row} was revoked before.\n"
    assert run("apikeys") == "There are none.\n"
    with pytest.raises(CommandError, match="No API key"):
        run("apikeys", "--revoke", "00000000-0000-0000-0000-000000000000")


def test_back_office_shows_keys_and_support_revokes_one(operator, new_key):
    row, key = new_key()
    path = reverse("admin:apikeys_apikey_changelist")
    page = operator.get(path).content.decode()
    page += operator.get(reverse("admin:apikeys_apikey_change", args=[row.pk])).content.decode()
    assert "Payroll" in page
    assert row.digest not in page

    operator.post(path, {"action": "revoke", "_selected_action": [row.pk], "post": "yes"})

    assert client_of(key).get("/users").status_code == 401
