"""The pages of users and companies, and the index: their facts, buttons and queries."""

import re
import time
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import Max
from django.urls import reverse
from django.utils import timezone

import audit
from accounts.models import Account, Consultant, User
from apikeys.models import ApiKey
from assistants.models import Client, Grant
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from invitations.models import Invitation
from keys.cache import signing_keys
from keys.models import SigningKey
from mail.outbox import MailState, OutgoingMail
from passwords.models import PasswordChange
from scim.models import ScimUser
from signin.factors.models import Factors
from sso.models import Domain, IdentityProvider
from tests.backoffice.helpers import list_of, page_of, staff_with, text
from tests.races import call_before_commit
from tests.throttling.helpers import fail

pytestmark = pytest.mark.django_db


def button_names(page):
    parts = ("main_buttons", "buttons", "danger_buttons")
    return {name for part in parts for name, _ in page.context[part]}


@pytest.fixture
def locked(ada):
    fail(5, ada.email)
    return ada


def test_user_page_shows_sign_ins_links_and_mails(operator, ada, bob):
    audit.record(Kind.LOGIN_SUCCEEDED, actor=bob)
    PasswordChange.objects.create(user=bob, email=bob.email)
    OutgoingMail.objects.create(kind="passwords.passwordchange", email=bob.email)
    page = text(operator, page_of(bob))

    for words in (
        "Not locked; no failed attempts.",
        "signed in",
        "A password link is open",
        "password change</td><td>requested",
        f"/admin/audit/record/?q={bob.email.replace('@', '%40')}",
    ):
        assert words in page or words.replace("%40", "@") in page, words


def test_second_factors_of_a_user_are_listed(operator, bob):
    factors = Factors.objects.create(
        user=bob, totp_id=uuid4(), totp_name="Bob's phone", totp_added_at=timezone.now()
    )
    factors.passkeys.create(name="Yubikey", credential_id="x", credential=b"", handle=b"")

    page = text(operator, page_of(bob))

    assert "<td>authenticator app</td><td>Bob&#x27;s phone</td>" in page
    assert "<td>passkey</td><td>Yubikey</td>" in page


def test_connected_apps_of_a_user_are_listed_until_they_end(operator, bob):
    client = Client.objects.create(name="Claudia", redirect_uris=["https://claudia.example/back"])
    grant = Grant.objects.create(
        user=bob,
        client=client,
        redirect_uri=client.redirect_uris[0],
        token_version=bob.token_version,
        redeemed_at=timezone.now(),
    )
    before = text(operator, page_of(bob))
    grant.end(actor=bob)

    assert "<td>calls itself “Claudia”</td><td>claudia.example</td>" in before
    assert "Claudia" not in text(operator, page_of(bob))


def test_pages_show_no_id_and_redirect_once_saved(operator, bob):
    mail = OutgoingMail.objects.create(kind="passwords.passwordchange", email=bob.email)
    for row in (bob, bob.account, mail):
        page = text(operator, page_of(row))

        assert str(row.pk) not in re.sub("<[^>]*>", "", page)
        assert "Save and continue editing" not in page


def test_unknown_button_does_nothing(operator, bob):
    before = User.objects.values().get(pk=bob.pk)
    assert operator.post(page_of(bob), {"_do": "delete_selected"}).status_code == 302
    assert User.objects.values().get(pk=bob.pk) == before


@pytest.mark.parametrize("name", ["send_password_link", "deactivate", "erase"])
def test_button_keeps_the_filters_of_the_list(operator, bob, name):
    page = f"{page_of(bob)}?_changelist_filters=role__exact%3Dmember"
    answer = operator.post(page, {"_do": name, "post": "yes", "confirmed": "someone else"})

    assert answer["Location"] == page


def test_groups_are_shown_for_staff_only(operator, ada, bob):
    User.objects.filter(pk=ada.pk).update(is_staff=True)

    assert 'name="groups"' in text(operator, page_of(ada))
    assert 'name="groups"' not in text(operator, page_of(bob))


def test_company_page_shows_users_invitations_and_consultants(operator, ada, bob, eve):
    Invitation.objects.invite(ada, "charles@example.com")
    Consultant.objects.create(account=ada.account, user=bob, name="Bob's profile")
    page = text(operator, page_of(ada.account))

    for words in (ada.email, bob.email, "charles@example.com", "Bob&#x27;s profile", "2 in total"):
        assert words in page, words
    assert eve.email not in page


def test_pages_show_what_a_directory_provisions_and_its_last_problem(operator, ada, bob):
    company, user = page_of(ada.account), page_of(bob)
    assert "<h2>API keys</h2>" in text(operator, company)
    assert "Provisioned" not in text(operator, user)
    key, _ = ApiKey.objects.make(ada, "Entra ID", ["scim"])
    ScimUser.objects.create(user=bob, account=ada.account, external_id="4711")
    key.record_problem("400 invalidFilter")

    page = text(operator, company)
    assert all(words in page for words in ("Entra ID", "never used", ": 400 invalidFilter"))
    page = text(operator, user)
    assert "Provisioned by the company's directory" in page
    assert "External ID: 4711" in page
    assert "removed the user on" not in page
    ScimUser.objects.remove(key, bob)
    page = text(operator, user)
    assert "removed the user on" in page
    assert "The company&#x27;s directory provisions it" in page


def test_consultant_must_be_a_user_of_the_company(operator, ada, bob, eve):
    consultant = Consultant.objects.create(account=ada.account)
    form = {"name": "", "manager": ada.pk}
    refusal = operator.post(page_of(consultant), form | {"user": eve.pk})
    answer = operator.post(page_of(consultant), form | {"user": bob.pk})

    assert "Belongs to another company." in refusal.content.decode()
    assert answer.status_code == 302
    consultant.refresh_from_db()
    assert (consultant.user, consultant.manager) == (bob, ada)


def test_users_who_lose_or_get_a_profile_are_recorded(operator, ada, bob):
    """Readers of events have copies of users, with `consultant_id` and `is_manager`."""
    consultant = Consultant.objects.create(account=ada.account, user=ada, name="Ab")

    def subjects(change):
        newest = AuditEvent.objects.aggregate(pk=Max("pk", default=0))["pk"]
        change()
        events = AuditEvent.objects.filter(pk__gt=newest, kind__startswith="admin.")
        return sorted(events.values_list("subject", flat=True))

    def save(**form):
        return lambda: operator.post(page_of(consultant), {"name": "Ab"} | form)

    assert subjects(save(user=bob.pk)) == ["Ab", ada.email, bob.email]
    assert subjects(save(user=bob.pk, name="Bb")) == ["Bb"]
    assert subjects(save(user=bob.pk, manager=ada.pk)) == ["Ab", ada.email]
    delete = {"action": "delete_selected", "_selected_action": [consultant.pk], "post": "yes"}
    all_three = ["Ab", ada.email, bob.email]
    assert subjects(lambda: operator.post(list_of(Consultant), delete)) == all_three
    assert not Consultant.objects.exists()
    new = {"account": ada.account_id, "name": "Cd", "user": bob.pk}
    add = reverse("admin:accounts_consultant_add")
    assert subjects(lambda: operator.post(add, new)) == ["Cd", bob.email]


@pytest.mark.django_db(transaction=True)
def test_deletion_of_a_profile_records_the_user_who_got_it_meanwhile(operator, ada, bob, new_user):
    profile = Consultant.objects.create(account=ada.account, user=ada, name="Ab")
    support = staff_with(new_user("s@example.net"), "view_consultant", "delete_consultant")

    delete = reverse("admin:accounts_consultant_delete", args=[profile.pk])

    def delete_while_given(browser, **changes):
        rows = Consultant.objects.filter(pk=profile.pk)
        answer = call_before_commit(
            lambda: rows.update(**changes), lambda: browser.post(delete, {"post": "yes"})
        )
        return answer.status_code, rows.exists()

    protected = User.objects.get(is_superuser=True)
    assert delete_while_given(support, manager=protected) == (403, True)
    assert delete_while_given(operator, user=bob, manager=None) == (302, False)
    events = AuditEvent.objects.filter(kind__startswith="admin.")
    assert sorted(events.values_list("subject", flat=True)) == ["Ab", bob.email]


@pytest.mark.django_db(transaction=True)
def test_row_that_two_delete_at_once_is_recorded_once(operator, ada):
    profile = Consultant.objects.create(account=ada.account, user=ada, name="Ab")
    delete = reverse("admin:accounts_consultant_delete", args=[profile.pk])

    call_before_commit(profile.delete, lambda: operator.post(delete, {"post": "yes"}))

    assert not AuditEvent.objects.filter(kind__startswith="admin.").exists()


def test_consultant_s_page_keeps_the_user_who_was_linked_meanwhile(operator, ada, bob):
    consultant = Consultant.objects.create(account=ada.account, manager=ada, name="Bb")
    page = text(operator, page_of(consultant))
    initial = re.findall(r'name="(initial-\w+)"(?: value="([^"]*)")?', page)
    Consultant.objects.update(user=bob)
    operator.post(page_of(consultant), dict(initial) | {"name": "Bob", "user": "", "manager": ""})

    assert Consultant.objects.values_list("name", "user", "manager").get() == ("Bob", bob.pk, None)


def test_company_s_page_keeps_the_name_that_was_given_meanwhile(operator, ada):
    page = text(operator, page_of(ada.account))
    initial = dict(re.findall(r'name="(initial-\w+)"(?: value="([^"]*)")?', page))
    form = {"name": initial["initial-name"], "time_zone": "Europe/Berlin"}
    Account.objects.filter(pk=ada.account_id).update(name="Difference Engines")
    operator.post(page_of(ada.account), initial | form)

    company = Account.objects.get(pk=ada.account_id)
    assert (company.name, company.time_zone) == ("Difference Engines", "Europe/Berlin")


def test_company_s_page_refuses_an_unknown_time_zone(operator, ada):
    form = {"name": "Difference Engines", "time_zone": "Europe/Atlantis"}
    answer = operator.post(page_of(ada.account), form)

    assert list(answer.context["adminform"].errors) == ["time_zone"]
    assert "Unknown time zone." in answer.content.decode()
    company = Account.objects.get(pk=ada.account_id)
    assert (company.name, company.time_zone) == ("Analytical Engines", "")
    assert not AuditEvent.objects.filter(kind=Kind.COMPANY_CHANGED).exists()


def test_index_shows_lockouts_and_failed_mails(operator, locked, bob):
    audit.record(Kind.LOGIN_FAILED, subject="charles@example.com")
    mail = {"kind": "passwords.passwordchange", "email": bob.email}
    OutgoingMail.objects.create(**mail, state=MailState.FAILED)
    OutgoingMail.objects.create(**mail, due_at=timezone.now() - timezone.timedelta(minutes=6))
    page = text(operator, "/admin/")

    for words in (
        f'{locked.email}</a></td><td class="whole">until 20',
        "1 waiting for over five minutes",
        "1 failed this week",
        "1 failed attempt, for 1 e-mail address, from 1 client address",
    ):
        assert words in page, words


def test_index_shows_support_staff_only_what_they_may_see(bob, locked):
    page = text(staff_with(bob), "/admin/?q=ada")

    assert "Locked now" not in page
    assert locked.email not in page
    assert '<svg class="chart"' not in page


def test_foreign_next_leads_to_the_index(client, operator, db):
    form = {"username": "op@example.com", "password": "an operator's"}
    answer = client.post("/admin/login/?next=//evil.test", form)

    assert (answer.status_code, answer["Location"]) == (302, "/admin/")


def test_action_of_the_diagnosis_is_the_main_button(operator, locked):
    context = operator.get(page_of(locked)).context

    assert context["main_buttons"] == [("unlock", "Unlock")]
    assert "unlock" not in dict(context["buttons"])


def test_actions_without_effect_have_no_button(operator, bob):
    names = button_names(operator.get(page_of(bob)))
    assert names == {"send_password_link", "sign_out", "make_admin", "deactivate"}

    User.objects.filter(pk=bob.pk).update(is_active=False, role="admin")

    names = button_names(operator.get(page_of(bob)))
    assert names == {"activate", "sign_out", "make_member"}


def test_erasure_page_first_counts_the_rows(operator, bob):
    PasswordChange.objects.create(user=bob, email=bob.email)
    for _ in range(2):
        OutgoingMail.objects.create(kind="passwords.passwordchange", email=bob.email)
    audit.record(Kind.LOGIN_SUCCEEDED, actor=bob, subject=bob.email)
    answer = operator.post(page_of(bob), {"_do": "erase"})
    counts = answer.context["counts"]

    assert counts["e-mailed links and invitations"] == "1"
    assert counts["mails in the outbox"] == "2"
    assert counts["events in the audit log, which keep a pseudonym"] == "1"
    assert User.objects.filter(pk=bob.pk).exists()


def test_company_erasure_page_counts_what_the_erasure_takes(operator, ada, bob, eve):
    own = Invitation.objects.invite(ada, "charles@example.com")
    stays = Invitation.objects.invite(eve, "charles@example.com")
    to_user = Invitation.objects.invite(eve, bob.email)
    ApiKey.objects.make(ada, "Payroll", ["users:read"])
    IdentityProvider.objects.create(pk=ada.account_id, account=ada.account)
    Domain.objects.create(account=ada.account, name="example.com")
    fail(1, bob.email)
    fail(1, eve.email)
    OutgoingMail.objects.all().delete()
    for email, link in [(own.email, own), (stays.email, stays), (to_user.email, to_user)]:
        OutgoingMail.objects.create(kind=Invitation._meta.label_lower, email=email, link_id=link.pk)
    OutgoingMail.objects.create(kind="passwords.passwordchange", email=bob.email)
    counts = operator.post(page_of(ada.account), {"_do": "erase"}).context["counts"]

    assert counts.pop("events in the audit log, which keep pseudonyms") != "0"
    assert counts == {
        "users, with their second factors and links": "2",
        "invitations": "1",
        "consultants": "0",
        "API keys": "1",
        "identity providers": "1",
        "mail domains": "1",
        "mails in the outbox": "2",
        "lockouts and counted failures": "1",
    }
    user_counts = operator.post(page_of(bob), {"_do": "erase"}).context["counts"]
    assert user_counts["e-mailed links and invitations"] == "0"
    assert user_counts["mails in the outbox"] == "1"


def test_erasure_counts_what_former_addresses_have(operator, bob):
    former_email = bob.email
    bob.change_address(COMMAND, "robert@example.com")  # mails both addresses
    fail(1, former_email)

    counts = operator.post(page_of(bob), {"_do": "erase"}).context["counts"]

    assert counts["lockouts and counted failures"] == "1"
    assert counts["mails in the outbox"] == "2"


@pytest.mark.parametrize(
    ("change", "words", "actions"),
    [
        ({}, "The mail has not been sent yet.", {"resend", "revoke"}),
        ({"used_at": timezone.now()}, "Accepted on", set()),
        ({"revoked_at": timezone.now()}, "Revoked on", set()),
        ({"expires_at": timezone.now()}, "Expired unused on", {"resend", "revoke"}),
        ({"email": "bob@example.com"}, "already belongs to a user", {"resend", "revoke"}),
    ],
)
def test_invitation_page_shows_its_state_and_actions(operator, ada, bob, change, words, actions):
    invitation = Invitation.objects.invite(ada, "charles@example.com")
    Invitation.objects.filter(pk=invitation.pk).update(**change)
    answer = operator.get(page_of(invitation))

    assert words in answer.content.decode()
    assert button_names(answer) == actions


@pytest.mark.live
class TestAtScale:
    """20,000 users in 300 companies, 60,000 audit events."""

    INSERT_USERS = """
    INSERT INTO accounts_user (id, account_id, email, first_name, last_name, role, language,
        is_active, is_staff, is_superuser, token_version, created_at, password)
    SELECT gen_random_uuid(), company.id, n || '.' || company.id || '@example.com', 'First' || n,
        'Last' || n, 'member', 'en', true, false, false, 1, now(), '!'
    FROM accounts_account company, generate_series(1, 67) n
    """
    INSERT_EVENTS = """
    INSERT INTO audit_record (kind, at, actor_email, subject, address, agent, request_id, detail)
    SELECT 'login.failed', now() - n * interval '1 minute', '',
        n % 900 || '@example.com', '192.0.2.1', '', '', '{}'
    FROM generate_series(1, 60000) n
    """

    @pytest.fixture
    def crowded(self, ada):
        Account.objects.bulk_create(Account(name=f"Company {n}") for n in range(300))
        with connection.cursor() as cursor:
            cursor.execute(self.INSERT_USERS)
            cursor.execute(self.INSERT_EVENTS)
        return User.objects.filter(account__name="Company 7").first()

    def test_no_page_takes_more_than_twenty_queries_or_a_second(
        self, operator, crowded, django_assert_max_num_queries
    ):
        pages = [
            "/admin/",
            "/admin/?q=last5",
            page_of(crowded),
            page_of(crowded.account),
            "/admin/accounts/user/?q=last5",
            "/admin/accounts/user/?q=" + "+".join(f"w{number}" for number in range(1900)),
            "/admin/accounts/user/?q=" + "+".join(["e"] * 1900),
            "/admin/accounts/user/?_facets=1",
            "/admin/audit/record/?_facets=1",
            "/admin/accounts/account/?q=company",
            "/admin/audit/record/?q=7@",
            "/admin/throttling/lockout/",
            "/admin/mail/outgoingmail/",
            "/admin/invitations/invitation/",
        ]
        for page in pages:
            operator.get(page)
            with django_assert_max_num_queries(20):
                begin = time.thread_time()
                assert operator.get(page).status_code == 200, page
            assert time.thread_time() - begin < 1, page


@pytest.mark.parametrize("path", ["/admin/", "/admin/login/", "/admin/accounts/user/"])
def test_every_page_links_to_the_operators_pages(operator, api, settings, path):
    settings.LINKS = {"imprint": "https://www.example.com/imprint"}

    page = (api.client if "login" in path else operator).get(path)

    assert 'href="https://www.example.com/imprint"' in page.content.decode()


def test_keys_are_shown_without_their_private_half_and_are_not_changed(ada):
    SigningKey.objects.make_first()
    signing_keys.refresh()
    key = SigningKey.objects.get()
    client = staff_with(ada, "view_signingkey")
    for page in (text(client, list_of(SigningKey)), text(client, page_of(key))):
        assert key.kid in page
        assert ">Signing</span>" in page
        assert key.private_key not in page
    assert client.post(page_of(key), {"kid": "x"}).status_code == 403
    assert client.post(f"{list_of(SigningKey)}{key.pk}/delete/").status_code == 403


def test_audit_log_names_the_browser_and_the_program(ada):
    browser = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15"  # cut off
    for agent in (browser, "manage.py unlock"):
        AuditEvent.objects.create(kind=Kind.LOGIN_FAILED, subject="b", agent=agent)

    page = text(staff_with(ada, "view_auditevent"), "/admin/audit/record/")

    clients = re.findall(r"field-client_claim[^>]*>([^<]*)", page)
    assert {"Safari on macOS", "manage.py unlock"} <= set(clients)
