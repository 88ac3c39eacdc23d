"""Erasure: nothing of the person is left in the database, and nothing is logged of them after."""

import contextlib
import itertools
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from smtplib import SMTPRecipientsRefused

import pytest
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.utils import timezone

import audit
from accounts import tokens
from accounts.models import Account, Consultant, User
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from audit.pseudonyms import pseudonym_of
from backoffice.admin import AccountAdmin, UserAdmin
from config.logs import TextFormatter
from emailchanges.models import EmailChange, UndoEmailChange
from invitations.models import Invitation
from mail.delivery import deliver
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from privacy.models import REQUESTS_HAVE_ENDED, Erasure
from tests.audit.helpers import as_service
from tests.backoffice.helpers import staff_with
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.invitations.conftest import accept
from tests.privacy.conftest import EMAIL, NAMES, finish, unchanged
from tests.privacy.helpers import dump, found
from tests.races import call_before_commit, is_waited_for
from tests.servers import wait_until
from tests.services import query
from tests.signin.factors.helpers import begin_passkey
from worker.rounds import Worker, run_round_jobs

pytestmark = pytest.mark.django_db
LEFT = "the last admin cannot be removed"


def test_erasure_leaves_no_trace_in_any_table(traces):
    assert len(found(traces, dump())) > 20
    Erasure.objects.erase_user(traces, COMMAND)
    finish()

    assert found(traces, without_others_invitation(dump())) == []


def without_others_invitation(text):
    """The text without another company's pending invitation and its mail, which stay."""
    links = [str(pk) for pk in Invitation.objects.filter(email=EMAIL).values_list("pk", flat=True)]
    assert len(links) == 1
    tables = ("invitations_invitation: ", "mail_outgoingmail: ")
    return "\n".join(
        line for line in text.splitlines() if not (line.startswith(tables) and links[0] in line)
    )


def test_person_who_is_invited_again_can_come_back(zeb, as_ada):
    Erasure.objects.erase_user(zeb, COMMAND)
    as_ada.post("/invitations", {"email": EMAIL})
    finish()

    assert Invitation.objects.get(email=EMAIL).is_live()
    assert any(EMAIL in message.to and "/accept" in message.body for message in mail.outbox)


def test_former_addresses_go_too(zeb, new_user):
    zeb.change_address(zeb, "second@example.net")
    call_command("changeemail", "second@example.net", "third@example.net")
    call_command("changeemail", "third@example.net", "fourth@example.net")
    Worker().work_round()
    new_user("third@example.net")  # somebody else's, by now
    API().post("/auth/login", {"email": "third@example.net", "password": PASSWORD})
    Erasure.objects.erase_user(User.objects.get(pk=zeb.pk), COMMAND)
    finish()

    text = dump()
    assert found(zeb, text) == []
    assert [email for email in ("second@", "fourth@") if email in text] == []
    assert AuditEvent.objects.filter(
        kind=Kind.LOGIN_SUCCEEDED, subject="third@example.net"
    ).exists()


def test_event_by_the_user_about_a_former_address_stays_with_its_new_owner(zeb, new_user):
    audit.record(Kind.UNLOCKED_BY_MAIL, actor=zeb, subject=EMAIL)
    zeb.change_address(zeb, "second@example.net")
    new_user(EMAIL)
    erasure = Erasure.objects.erase_user(zeb, COMMAND)
    finish()

    event = AuditEvent.objects.get(kind=Kind.UNLOCKED_BY_MAIL)
    assert (event.actor_email, event.subject) == (erasure.pseudonym, EMAIL)


def test_requested_address_stays_in_records_of_its_owner(zeb, eve):
    body = {"email": "wanted@example.net", "password": PASSWORD}
    assert bearer(zeb).post("/auth/email-changes", body).status_code == 200
    Worker().work_round()
    bearer(eve).post("/invitations", {"email": "wanted@example.net"})
    Erasure.objects.erase_user(zeb, COMMAND)
    finish()

    lines = [line for line in dump().splitlines() if "wanted@example.net" in line]
    assert sorted(line.partition(":")[0] for line in lines) == sorted(
        ["audit_record", "invitations_invitation", "mail_outgoingmail"]
    )
    assert AuditEvent.objects.get(subject="wanted@example.net").actor_id == eve.pk


@pytest.mark.parametrize("language", ["en", "de", "sv"])
def test_person_is_told_by_a_last_mail(traces, language):
    User.objects.filter(pk=traces.pk).update(language=language)
    Erasure.objects.erase_user(traces, COMMAND)
    Worker().work_round()

    told = [one for one in mail.outbox if one.to == [EMAIL]][-1]
    subjects = {"en": "has been deleted", "de": "wurde gelöscht", "sv": "har raderats"}
    assert subjects[language] in told.subject
    assert not [name for name in NAMES if name in told.body]


def raising(error):
    def fail(*args):
        raise error

    return fail


@pytest.mark.parametrize("days", [0, 4])
def test_address_is_forgotten_if_the_last_mail_cannot_be_sent(zeb, time_machine, days):
    Erasure.objects.erase_user(zeb, COMMAND)
    last = OutgoingMail.objects.get(email=EMAIL)
    last.attempts = 10
    time_machine.move_to(timezone.now() + timedelta(days=days))
    code = 421 if days else 550  # later, which comes to an end, or never
    server = mail.get_connection()
    server.send_messages = raising(SMTPRecipientsRefused({EMAIL: (code, b"no")}))
    assert deliver(last, server)
    finish()

    assert found(zeb, dump()) == []


def test_nothing_is_logged_afterwards(traces, ada, caplog):
    Erasure.objects.erase_user(traces, COMMAND)
    finish()
    bearer(ada).get("/users")

    lines = [TextFormatter().format(record) for record in caplog.records]
    assert lines
    assert found(traces, "\n".join(lines)) == []


def test_trail_keeps_its_records_under_one_pseudonym(traces):
    before = AuditEvent.objects.filter(actor_id=traces.pk).values_list("kind", "at")
    kept = list(before)
    pseudonym = Erasure.objects.erase_user(traces, COMMAND).pseudonym
    finish()

    theirs = AuditEvent.objects.filter(actor_email=pseudonym)
    assert sorted(theirs.values_list("kind", "at")) == sorted(kept)
    assert len(set(theirs.values_list("actor_id", flat=True))) == 1
    erased = AuditEvent.objects.get(kind=Kind.ERASED)
    assert (erased.subject, erased.actor_id) == (pseudonym, None)


def test_others_records_stay_as_they_are(traces, ada, bob, new_user):
    other = new_user(f"x{EMAIL}", first_name=NAMES[0], last_name=NAMES[1])
    API().post("/auth/login", {"email": other.email, "password": PASSWORD})
    with unchanged(AuditEvent.objects.exclude(actor_id=traces.pk).exclude(subject=EMAIL)):
        Erasure.objects.erase_user(traces, COMMAND)
        finish()


@pytest.mark.parametrize("name", ["admin", "role", "ada@example.com", "user.role"])
def test_name_that_occurs_in_others_events_changes_none_of_them(ada, bob, zeb, operator, name):
    """A role, a key of `detail`, an admin's address, a kind: a person may be called any of them."""
    User.objects.filter(pk=zeb.pk).update(first_name=name, last_name=name)
    Consultant.objects.create(account=ada.account, user=zeb, name=name)
    other = Consultant.objects.create(account=ada.account, name="Other")
    operator.post(f"/admin/accounts/consultant/{other.pk}/change/", {"name": name})
    for user in (bob, zeb):
        bearer(ada).patch(f"/users/{user.pk}", {"role": "admin" if user == bob else "member"})
    API().post("/auth/login", {"email": ada.email, "password": "wrong password"})
    with unchanged(AuditEvent.objects.exclude(subject=EMAIL)):
        Erasure.objects.erase_user(User.objects.get(pk=zeb.pk), COMMAND)
        finish()

    about = AuditEvent.objects.get(kind=Kind.ROLE_CHANGED, subject__startswith="erased-")
    assert (about.actor_email, about.detail) == (ada.email, {"role": "member"})


def test_open_invitations_are_revoked_and_accepted_ones_stay(zeb, ada, as_ada):
    opened = Invitation.objects.invite(zeb, "open@example.net")
    accepted = Invitation.objects.invite(zeb, "in@example.net")
    accept(API(), accepted)
    Erasure.objects.erase_user(zeb, COMMAND)

    statuses = {i.email: (i.status, i.invited_by) for i in Invitation.objects.all()}
    assert statuses == {"open@example.net": ("revoked", None), "in@example.net": ("accepted", None)}
    assert OutgoingMail.objects.filter(email=ada.email, kind="notice.invitations_revoked").exists()
    assert opened.pk


def test_pending_invitation_of_another_company_stays(zeb, eve, api):
    invitation = Invitation.objects.invite(eve, EMAIL)
    Erasure.objects.erase_user(zeb, COMMAND)
    finish()

    assert OutgoingMail.objects.filter(link_id=invitation.pk).exists()
    assert accept(api, invitation).json()["user"]["account_id"] == str(eve.account_id)


@pytest.mark.parametrize("end", ["revoked_at", "expires_at"])
def test_ended_invitation_of_another_company_goes(zeb, eve, end):
    Invitation.objects.filter(pk=Invitation.objects.invite(eve, EMAIL).pk).update(
        **{end: timezone.now()}
    )
    Erasure.objects.erase_user(zeb, COMMAND)

    assert not Invitation.objects.filter(email=EMAIL).exists()
    assert not OutgoingMail.objects.filter(email=EMAIL, kind__contains="nvitation").exists()


def test_sessions_of_the_back_office_forget_the_user(zeb, operator, client):
    zeb.is_staff = True
    zeb.save()
    client.force_login(zeb)
    page = f"/admin/accounts/user/{zeb.pk}/change/"
    operator.post(page, {"email": EMAIL, "first_name": "Zebulon", "last_name": "Quatermass",
                         "language": "de"})  # fmt: skip
    Erasure.objects.erase_user(zeb, COMMAND)

    kept = Session.objects.get().get_decoded()
    assert kept["_auth_user_id"] == str(User.objects.get(email="op@example.com").pk)
    assert found(zeb, str(kept)) == []


@pytest.fixture
def breaks(monkeypatch):
    """Makes every batch of an erasure fail."""
    process, broken = Erasure.process_locked, set()

    def fail(erasure):
        if erasure.pk in broken:
            connection.cursor().execute("SELECT 1 / 0")
        return process(erasure)

    monkeypatch.setattr(Erasure, "process_locked", fail)
    return broken.add


@pytest.mark.django_db(transaction=True)
def test_erasure_that_fails_holds_up_no_other(zeb, new_user, breaks):
    for user in (zeb, new_user()):
        Erasure.objects.erase_user(user, COMMAND)
    Erasure.objects.update(erased_at=timezone.now() - REQUESTS_HAVE_ENDED)
    broken = Erasure.objects.earliest("erased_at")
    breaks(broken.pk)
    while run_round_jobs():
        pass

    assert [one.pk for one in Erasure.objects.filter(done_at=None)] == [broken.pk]


def test_consultant_named_like_a_pseudonym_is_erased(zeb, ada):
    name = "erased-0123456789abcdef"
    profile = Consultant.objects.create(account=ada.account, user=zeb, name=name)
    AuditEvent.objects.create(kind=Kind.ADMIN_CHANGED, subject_id=profile.pk, subject=name)
    of_1_0_0 = {"subject": "Zeb Old", "detail": {"id": str(profile.pk)}}
    AuditEvent.objects.create(kind=Kind.ADMIN_CHANGED, **of_1_0_0)
    Erasure.objects.erase_user(zeb, COMMAND)
    finish()

    assert not AuditEvent.objects.filter(subject_id=profile.pk).exists()
    assert not AuditEvent.objects.filter(subject__in=[name, "Zeb Old"]).exists()


@pytest.fixture(params=["erase", "deletecompany"])
def command(request, zeb):
    """A command, whom or what it erases, and what the operator must type."""
    if request.param == "erase":
        return request.param, EMAIL.upper(), EMAIL
    return request.param, str(zeb.account_id), "Analytical Engines"


@pytest.mark.parametrize("answer", ["", "y", "ada@example.com"])
def test_command_that_is_not_confirmed_does_nothing(zeb, command, monkeypatch, answer):
    monkeypatch.setattr("builtins.input", lambda _: answer)

    with pytest.raises(CommandError, match=r"Nothing was (erased|deleted)"):
        call_command(*command[:2])
    assert User.objects.filter(pk=zeb.pk).exists()


def test_command_erases_once_the_name_is_typed(zeb, command, monkeypatch, capsys):
    monkeypatch.setattr("builtins.input", lambda _: command[2])
    call_command(*command[:2])

    assert not User.objects.filter(pk=zeb.pk).exists()
    if command[0] == "erase":
        assert AuditEvent.objects.get(kind=Kind.ERASED).subject in capsys.readouterr().out
    with pytest.raises(CommandError, match=r"No (user|company)"):
        call_command(*command[:2], "--yes")


def test_command_whose_company_is_erased_before_the_answer_fails(zeb, command, monkeypatch):
    def delete_and_confirm(prompt):
        User.objects.filter(account=zeb.account_id).delete()
        Account.objects.filter(pk=zeb.account_id).delete()
        return command[2]

    monkeypatch.setattr("builtins.input", delete_and_confirm)

    with pytest.raises(CommandError, match=r"No user has|erased meanwhile"):
        call_command(*command[:2])


@pytest.mark.django_db(transaction=True)
def test_commands_say_that_an_erasure_failed(zeb, eve, breaks, capsys):
    company = eve.account
    breaks(pseudonym_of(zeb.pk))
    breaks(f"company {company.pk}")
    failed = "Sign-in has ended, but erasing .* failed: DataError"

    with pytest.raises(CommandError, match=failed):
        call_command("erase", EMAIL, "--yes")
    with pytest.raises(CommandError, match=failed):
        call_command("deletecompany", str(company.pk), "--yes")

    assert "Erased" not in capsys.readouterr().out
    assert Erasure.objects.filter(done_at=None).count() == 2


def test_last_admin_cannot_be_erased_alone(ada, bob):
    with pytest.raises(CommandError, match=LEFT):
        call_command("erase", ada.email, "--yes")

    assert User.objects.filter(pk=ada.pk).exists()
    call_command("erase", bob.email, "--yes")
    assert not User.objects.filter(pk=bob.pk).exists()


def test_user_who_became_the_last_admin_is_not_erased(ada, new_user, monkeypatch):
    bob = new_user("bob@example.com", account=ada.account, role="admin")

    def answer(_):
        User.objects.filter(pk=ada.pk).update(role="member")
        return bob.email

    monkeypatch.setattr("builtins.input", answer)

    with pytest.raises(CommandError, match=LEFT):
        call_command("erase", bob.email)
    assert User.objects.filter(pk=bob.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_change_of_a_user_who_is_being_erased_is_404(ada, bob):
    change = partial(bearer(ada).patch, f"/users/{bob.pk}", {"role": "admin"})

    answer = call_before_commit(lambda: Erasure.objects.erase_user(bob, COMMAND), change)

    assert answer.status_code == 404


def test_company_goes_with_everybody_in_it(traces, ada, bob, eve, capsys):
    account = traces.account
    call_command("deletecompany", str(account.pk), "--yes")
    finish()

    text = without_others_invitation(dump())
    assert found(traces, text) == []
    for gone in (ada.email, str(ada.pk), bob.email, str(bob.pk), "Analytical Engines",
                 "friend@example.net", "Somebody"):  # fmt: skip
        assert gone not in text, gone
    assert not Account.objects.filter(pk=account.pk).exists()
    assert not Consultant.objects.exists()
    assert User.objects.filter(pk=eve.pk).exists()
    assert AuditEvent.objects.get(kind=Kind.COMPANY_DELETED).account_id == account.pk


def test_users_of_a_deleted_company_cannot_sign_in(ada):
    for _ in range(2):  # another click changes nothing
        Erasure.objects.delete_company(ada.account, COMMAND)

    assert API().post("/auth/login", {"email": ada.email, "password": PASSWORD}).status_code == 401
    assert AuditEvent.objects.filter(kind=Kind.COMPANY_DELETED).count() == 1


@pytest.mark.parametrize("named", ["Difference Engines", "Charles@example.com"])
def test_company_is_named_by_its_name_or_an_admin(new_user, ada, named):
    charles = new_user("charles@example.com", role="admin")
    Account.objects.filter(pk=charles.account_id).update(name="Difference Engines")
    call_command("deletecompany", named, "--yes")

    assert not User.objects.filter(pk=charles.pk).exists()
    assert User.objects.filter(pk=ada.pk).exists()


def test_company_that_is_not_the_only_one_of_its_name_stays(ada, bob, eve):
    twin = Account.objects.create(name=ada.account.name)
    with pytest.raises(CommandError, match="not only one") as told:
        call_command("deletecompany", ada.account.name, "--yes")
    with pytest.raises(CommandError, match="No company"):
        call_command("deletecompany", bob.email, "--yes")  # no admin

    assert str(ada.account_id) in str(told.value)
    assert str(twin.pk) in str(told.value)
    assert User.objects.filter(pk__in=[ada.pk, bob.pk, eve.pk]).count() == 3


def test_operators_company_stays(operator):
    company = Account.objects.get_or_create_operators()
    page = f"/admin/accounts/account/{company.pk}/change/"

    assert "for good" not in operator.get(page).content.decode()
    assert operator.post(page, {"_do": "erase", "confirmed": company.name}).status_code == 403
    with pytest.raises(CommandError, match="cannot be deleted"):
        call_command("deletecompany", str(company.pk), "--yes")
    with pytest.raises(PermissionDenied):
        Erasure.objects.delete_company(company, COMMAND)
    assert Account.objects.filter(pk=company.pk).exists()


def test_back_office_erases_what_was_typed(operator, zeb, ada):
    page = f"/admin/accounts/user/{zeb.pk}/change/"
    operator.post(page, {"_do": "erase", "confirmed": "zeb"})
    assert User.objects.filter(pk=zeb.pk).exists()

    operator.post(page, {"_do": "erase", "confirmed": EMAIL})
    assert not User.objects.filter(pk=zeb.pk).exists()
    assert AuditEvent.objects.get(kind=Kind.ERASED).actor_email == "op@example.com"

    page = f"/admin/accounts/user/{ada.pk}/change/"
    said = operator.post(page, {"_do": "erase", "confirmed": ada.email}, follow=True)
    assert LEFT in said.content.decode()
    page = f"/admin/accounts/account/{ada.account_id}/change/"
    asked = operator.post(page, {"_do": "erase"}).content.decode()
    assert "type <strong>Analytical Engines</strong>" in asked
    assert Account.objects.filter(pk=ada.account_id).exists()
    operator.post(page, {"_do": "erase", "confirmed": "Analytical Engines"})
    assert "Analytical Engines (being erased)" in operator.get(page).content.decode()
    finish()
    assert not Account.objects.filter(pk=ada.account_id).exists()


@pytest.mark.parametrize(
    ("name", "typed"),
    [("Acme  Inc", "Acme Inc"), ("Acme\u00a0Inc", "Acme Inc"), ("Mu\u0308ller", "M\u00fcller")],
    ids=["two spaces", "hard space", "NFD"],
)
def test_company_is_erased_once_its_name_is_typed_as_it_is_shown(
    operator, monkeypatch, name, typed
):
    by_page, by_command = (Account.objects.create(name=name) for _ in range(2))
    page = f"/admin/accounts/account/{by_page.pk}/change/"
    operator.post(page, {"_do": "erase", "confirmed": f"{typed}s"})
    assert not Erasure.objects.exists()
    operator.post(page, {"_do": "erase", "confirmed": typed})
    monkeypatch.setattr("builtins.input", lambda _: typed)
    call_command("deletecompany", str(by_command.pk))

    erased = {by_page.pk, by_command.pk}
    assert set(Erasure.objects.values_list("account_id", flat=True)) == erased


def test_user_is_erased_once_the_address_is_typed_as_it_is_shown(operator, zeb, new_user):
    karl = new_user("karl@m\u00fcller.example", account=zeb.account)
    page = f"/admin/accounts/user/{karl.pk}/change/"

    question = operator.post(page, {"_do": "erase"}).content.decode()
    shown = re.search("type <strong>(.*?)</strong>", question)
    operator.post(page, {"_do": "erase", "confirmed": shown[1]})

    assert shown[1] == "karl@m\u00fcller.example"
    assert not User.objects.filter(pk=karl.pk).exists()


@pytest.mark.parametrize("page", [UserAdmin, AccountAdmin])
def test_second_operator_learns_that_the_row_was_erased(operator, zeb, monkeypatch, page):
    def erase_first(*args):
        User.objects.filter(account=zeb.account_id).delete()
        return bool(Account.objects.filter(pk=zeb.account_id).delete())

    monkeypatch.setattr(page, "may_erase", erase_first)
    row = {UserAdmin: zeb, AccountAdmin: zeb.account}[page]
    path = f"/admin/accounts/{row._meta.model_name}/{row.pk}/change/"
    answer = operator.post(path, {"_do": "erase", "confirmed": str(row)}, follow=True)

    assert f"{row} was already erased." in answer.content.decode()


def test_other_staff_erase_nobody(zeb, new_user):
    browser = staff_with(
        new_user("support@example.com"), "view_user", "change_user", "change_account"
    )
    page = f"/admin/accounts/user/{zeb.pk}/change/"

    assert browser.post(page, {"_do": "erase", "confirmed": EMAIL}).status_code == 403
    assert 'value="erase"' not in browser.get(page).content.decode()
    assert User.objects.filter(pk=zeb.pk).exists()


def of_the_link(path, link, **body):
    return partial(API().post, path, {"token": link.token} | body)


def redeem(user, number):
    facts = {"old_email": user.email, "token_version": user.token_version}
    link = EmailChange.objects.create(user=user, email=f"c{number}@example.net", **facts)
    return partial(bearer(user).post, "/email-changes/redeem", {"token": link.token})


def undo(user, number):
    email = f"u{number}@example.net"
    link = UndoEmailChange.objects.create(user=user, email=email, new_email=user.email)
    return of_the_link("/email-changes/undo", link)


def new_password(user, number):
    link = PasswordChange.objects.create(user=user, email=user.email)
    return of_the_link("/password-changes/redeem", link, password="laws of thought")


def refresh(user, number):
    return partial(API().post, "/auth/refresh", {"refresh_token": str(tokens.issue_pair(user)[1])})


def add_factor(user, number):
    api = bearer(user)
    return partial(api.post, "/auth/factors/passkeys", begin_passkey(api))


def posted(path, **body):
    """A call by the person; EMAIL in its body stands for the address, NEW for another."""

    def prepare(user, number):
        told = {"EMAIL": user.email, "NEW": f"n{number}@example.net"}
        return partial(bearer(user).post, path, {k: told.get(v, v) for k, v in body.items()})

    return prepare


# What may be done by or about somebody at the moment of the erasure.
OTHERS = {
    "login": posted("/auth/login", email="EMAIL", password=PASSWORD),
    "wrong password": posted("/auth/login", email="EMAIL", password="wrong password"),
    "refresh": refresh,
    "profile": lambda user, _: partial(bearer(user).patch, "/auth/me", {"first_name": "Other"}),
    "data": lambda user, _: partial(bearer(user).get, "/auth/me/data"),
    "factor": add_factor,
    "new password": new_password,
    "password mail": posted("/password-changes", email="EMAIL"),
    "email change": posted("/auth/email-changes", email="NEW", password=PASSWORD),
    "redeem": redeem,
    "undo": undo,
    "invite": lambda user, n: partial(
        bearer(user).post, "/invitations", {"email": f"friend{n}@example.net"}
    ),
    "mails": lambda user, _: user.send_notice("password_changed") or Worker().work_round,
    "erase": lambda user, _: partial(attempt, user),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", OTHERS)
def test_erase_against_everything(ada, new_user, what):
    """Whatever meets it, afterwards nothing of the person is there."""
    for number in range(12):
        email = f"zeb{number}@example.com"
        user = new_user(email, account=ada.account, role="admin", first_name=f"Zebulon{number}")
        other = OTHERS[what](user, number)
        overtake_at_query(number, other, partial(attempt, user))
        finish()

        assert not User.objects.filter(pk=user.pk).exists()
        needles = [str(user.pk), user.pk.hex, f"Zebulon{number}'", email]
        needles += [f"{letter}{number}@example.net" for letter in "ncu"]
        lines = dump().splitlines()
        assert [line for line in lines if any(needle in line for needle in needles)] == []


def overtake_at_query(number, other, event):
    """Run both. The other stops before this query until the event is over, or waits for a row that
    the other holds."""
    queries = itertools.count()
    with ThreadPoolExecutor(1) as pool:

        def overtake(execute, *query):
            if next(queries) == number:
                running = pool.submit(event)
                wait_until(lambda: running.done() or is_waited_for())
            return execute(*query)

        with connection.execute_wrapper(overtake):
            other()
        if next(queries) <= number:
            event()
        pool.submit(connections.close_all)


def attempt(user):
    with contextlib.suppress(User.DoesNotExist):
        Erasure.objects.erase_user(User.objects.get(pk=user.pk), COMMAND)


def test_service_role_of_the_guide_can_erase(new_service, new_database):
    owner = new_database()
    service = new_service(DATABASE_URL=as_service(owner)).add_operator(EMAIL)
    service.manage("changeemail", EMAIL, "z@example.net")
    query(owner, "UPDATE accounts_user SET is_active = false")
    service.manage("erase", "z@example.net", "--yes")

    assert query(owner, "SELECT count(*) FROM accounts_user") == [(0,)]
    events = str(query(owner, "SELECT * FROM audit_record"))
    assert "z@example.net" not in events
    assert "erased-" in events
