"""The user of a person whom the provider names: linked, found by address, invited, new or none."""

from functools import partial

import pytest
from django.db import connection as database
from django.utils import timezone

from accounts.models import Account, Consultant, Role, User
from audit.actors import COMMAND
from audit.models import AuditEvent
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from privacy.models import Erasure
from signin.browsers import BROWSER_COOKIE
from sso import linking, openid
from sso.models import Identity, IdentityProvider
from tests.clients import bearer
from tests.privacy.conftest import finish, statuses_while_erased
from tests.races import race
from tests.sso.conftest import Browser, connect, prove

pytestmark = pytest.mark.django_db
NEW = "carl@example.com"


def test_linked_user_is_found_by_the_sub(browser, ada):
    browser.sign_in(sub="1", email=ada.email)

    answer = browser.sign_in(sub="1", email="ada.king@example.com")

    assert answer.json()["user"]["id"] == str(ada.pk)
    assert User.objects.get().email == ada.email
    assert Identity.objects.get().sub == "1"


def test_user_of_the_company_is_linked_by_the_address(browser, ada, bob):
    assert browser.sign_in(sub="2", email="Bob@EXAMPLE.com").json()["user"]["id"] == str(bob.pk)
    assert Identity.objects.get().user == bob


def test_name_keeps_the_joiners_of_its_script(browser, ada):
    name = "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627"  # Alireza in Persian

    user = browser.sign_in(email=NEW, given_name=f"\u200b{name}\n").json()["user"]

    assert user["first_name"] == name


@pytest.mark.parametrize("required", [False, True])
def test_invited_user_joins_in_the_role_of_the_invitation(browser, ada, required):
    consultant = Consultant.objects.create(account=ada.account, name="Carl")
    invitation = Invitation.objects.invite(ada, NEW, Role.ADMIN, consultant.pk)
    IdentityProvider.objects.update(creates_users=False, required=required)

    user = browser.sign_in(email=NEW, given_name="Carl", family_name="Gauss").json()["user"]

    assert (user["role"], user["consultant_id"]) == ("admin", str(consultant.pk))
    assert (user["first_name"], user["last_name"]) == ("Carl", "Gauss")
    invitation.refresh_from_db()
    assert invitation.status == "accepted"
    kinds = ["invitation.created", "invitation.accepted", "sso.linked", "login.succeeded"]
    assert [*AuditEvent.objects.order_by("pk").values_list("kind", flat=True)] == kinds


def test_new_member_joins_if_the_provider_creates_users(browser, ada):
    location = browser.start()
    browser.api.headers = {"accept-language": "sv"}
    answer = browser.provider.approve(location, email=NEW, name="Carl G.")
    user = browser.redeem(browser.bring_answer(location, answer)["code"]).json()["user"]

    assert (user["role"], user["account_id"]) == ("member", str(ada.account_id))
    assert (user["first_name"], user["last_name"]) == ("Carl G.", "")
    assert user["settings"] == {"language": "sv"}
    assert not User.objects.get(email=NEW).has_usable_password()


@pytest.mark.parametrize("end", ["revoked", "expired", "inviter"])
def test_closed_invitation_creates_no_user(browser, ada, new_user, end):
    inviter = new_user(role=Role.ADMIN, account=ada.account)
    invitation = Invitation.objects.invite(inviter, NEW, Role.ADMIN)
    IdentityProvider.objects.update(creates_users=False)
    if end == "revoked":
        invitation.revoke(ada)
    elif end == "expired":
        Invitation.objects.update(expires_at=invitation.created_at)
    else:
        User.objects.filter(pk=inviter.pk).update(role=Role.MEMBER)

    assert browser.visit(email=NEW) == {"error": "not_invited"}
    assert not User.objects.filter(email=NEW).exists()
    IdentityProvider.objects.update(creates_users=True)
    assert browser.sign_in(email=NEW).json()["user"]["role"] == "member"


def test_open_invitation_of_a_user_whom_the_provider_adds_is_closed(browser, ada, eve):
    for inviter in (ada, eve):
        invitation = Invitation.objects.invite(inviter, NEW, Role.ADMIN)
    Invitation.objects.filter(account=ada.account).update(expires_at=invitation.created_at)

    user = browser.sign_in(email=NEW).json()["user"]

    own, of_other_company = Invitation.objects.order_by("account__name")
    assert (own.status, of_other_company.status) == ("revoked", "pending")
    event = AuditEvent.objects.get(kind="invitation.revoked")
    assert (str(event.actor_id), event.subject) == (user["id"], NEW)


def test_address_outside_the_proved_domains_is_refused(browser, ada, new_user):
    outside = new_user("dora@example.net", account=ada.account)
    prove(new_user("x@example.org").account, "example.org")
    ada.account.domains.create(name="example.net")  # not proved

    for email in (outside.email, "new@example.org", "new@sub.example.com", "new@xexample.com"):
        assert browser.visit(email=email) == {"error": "domain"}
    browser.sign_in(sub="1", email=ada.email)
    assert browser.visit(sub="1", email="ada@example.net") == {"error": "domain"}


@pytest.mark.parametrize("local", ["=?x?q?victim?=", "a%b", "a!b"])
def test_address_that_cannot_be_mailed_makes_no_user(browser, ada, local):
    email = f"{local}@example.com"
    Invitation(account=ada.account, email=email).send(COMMAND)

    assert browser.visit(email=email) == {"error": "provider"}
    assert not User.objects.filter(email=email).exists()


REFUSED = {
    "another company's": lambda bob, eve: {"account": eve.account},
    "deactivated": lambda bob, eve: {"is_active": False},
    "staff": lambda bob, eve: {"is_staff": True},
    "superuser": lambda bob, eve: {"is_superuser": True},
}


@pytest.mark.parametrize("changes", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("linked", [False, True])
def test_user_who_may_not_sign_in_here_is_refused(browser, bob, eve, changes, linked):
    if linked:
        browser.sign_in(email=bob.email)
    User.objects.filter(pk=bob.pk).update(**changes(bob, eve))

    assert browser.visit(email=bob.email) == {"error": "account"}
    assert Identity.objects.count() == linked


def refusals():
    """Subjects and reasons of the recorded failures, oldest first."""
    events = AuditEvent.objects.filter(kind="login.failed").order_by("pk")
    return [(event.subject_id or event.subject, event.detail["reason"]) for event in events]


def test_event_of_a_refusal_names_the_linked_user(browser, connection, ada, bob):
    browser.sign_in(sub="1", email=ada.email)

    browser.visit(sub="1", email="countess@example.net")
    browser.visit(sub="1", email=bob.email, email_verified=False)
    browser.visit(sub="2", email=bob.email, email_verified=False)
    User.objects.filter(pk=ada.pk).update(is_active=False)
    browser.visit(sub="1", email=ada.email)

    assert refusals() == [
        (ada.pk, "provider: domain"), (ada.pk, "provider: unverified"),
        (bob.pk, "provider: unverified"), (ada.pk, "provider: account"),
    ]  # fmt: skip
    assert set(AuditEvent.objects.values_list("account_id", flat=True)) == {connection.account_id}


def test_provider_writes_no_events_about_others(browser, connection, ada, bob, eve):
    """An admin's provider can claim anything about users of other companies."""
    browser.sign_in(sub="1", email=bob.email)
    User.objects.filter(pk=bob.pk).update(account=eve.account)
    IdentityProvider.objects.update(creates_users=False)

    browser.visit(sub="1", email="x@example.com")  # linked, and gone to another company
    browser.visit(sub="2", email=eve.email)
    browser.visit(sub="3", email="nobody@example.org")
    browser.visit(sub="4", email=bob.email)
    browser.visit(sub="5", email=NEW)

    issuer = connection.issuer
    assert refusals() == [
        (issuer, "provider: account"), (issuer, "provider: domain"), (issuer, "provider: domain"),
        (issuer, "provider: account"), (NEW, "provider: not_invited"),
    ]  # fmt: skip
    assert not AuditEvent.objects.filter(kind="login.failed", subject_id__isnull=False).exists()


def test_erasure_leaves_no_address_that_the_provider_named(browser, ada, bob):
    browser.sign_in(sub="2", email=bob.email)
    browser.visit(sub="2", email="bobby@example.net")
    browser.visit(sub="2", email="bobby@example.com", email_verified=False)
    browser.visit(sub="3", email=bob.email, email_verified=False)

    Erasure.objects.erase_user(bob, COMMAND)
    finish()

    events = AuditEvent.objects.values_list("subject", "subject_id", "actor_id", "detail")
    assert len(events) == 6
    assert not [row for row in events if "bob" in str(row) or str(bob.pk) in str(row)]


def test_address_that_was_given_to_someone_else_is_refused(browser, bob):
    browser.sign_in(sub="bob", email=bob.email)

    assert browser.visit(sub="another bob", email=bob.email) == {"error": "account"}
    assert Identity.objects.get().sub == "bob"


@pytest.mark.parametrize("is_linked", [False, True])
@pytest.mark.parametrize("change", [
    {"configured_at": timezone.now()}, {"active": False}, None,
])  # fmt: skip
def test_provider_that_changes_during_the_sign_in_signs_no_user_in(
    browser, ada, meanwhile, change, is_linked
):
    """Another provider's subjects may be linked by the time the one before has answered."""
    if is_linked:
        assert browser.sign_in(sub="1", email=ada.email).status_code == 200
    rows = IdentityProvider.objects.all()
    meanwhile(lambda: rows.update(**change) if change else rows.delete())

    assert browser.visit(sub="1", email=ada.email) == {"error": "switched_off"}
    assert Identity.objects.exists() is bool(is_linked and change)


def test_company_that_is_deleted_during_the_sign_in_gets_no_user(browser, ada, monkeypatch):
    def delete_company(*args):
        User.objects.filter(account=ada.account_id).delete()
        Account.objects.filter(pk=ada.account_id).delete()

    monkeypatch.setattr(linking, "find_linked_user", delete_company)

    assert browser.visit(email="new@example.com") == {"error": "switched_off"}
    assert not User.objects.filter(email="new@example.com").exists()


def test_same_sub_at_two_companies_names_two_users(browser, provider, ada, eve):
    browser.sign_in(sub="1", email=ada.email)
    connect(eve.account, provider, "example.org")

    answer = browser.visit(browser.find(eve.email)["url"], sub="1", email=eve.email)

    assert browser.redeem(answer["code"]).json()["user"]["id"] == str(eve.pk)
    assert Identity.objects.count() == 2


def attempts(provider, number, **claims):
    """Calls that bring as many answers of the provider at once, each from a browser of its own."""
    browsers = [Browser(provider) for _ in range(number)]
    places = [browser.start() for browser in browsers]
    answers = [provider.approve(place, **claims) for place in places]

    def bring_answer(browser, place, answer):
        end = browser.bring_answer(place, answer)
        return "code" in end and browser.redeem(end["code"]).json()["user"]["id"]

    steps = zip(browsers, places, answers, strict=True)
    return [lambda step=step: bring_answer(*step) for step in steps]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("invited", [False, True])
def test_eight_first_sign_ins_at_once_make_one_user(provider, connection, ada, invited):
    if invited:
        Invitation.objects.invite(ada, NEW, Role.ADMIN)

    ids = race(*attempts(provider, 8, email=NEW))

    assert set(ids) == {str(User.objects.get(email=NEW).pk)}
    assert Identity.objects.count() == 1
    assert AuditEvent.objects.filter(kind="sso.linked").count() == 1


def callback_of(provider, user):
    browser = Browser(provider)
    location = browser.start()
    answer = provider.approve(location, sub=user.email, email=user.email)
    return lambda: (browser.bring_answer(location, answer), browser.response)[1]


def redemption(provider, user):
    browser = Browser(provider)
    code = browser.visit(sub=user.email, email=user.email)["code"]
    return partial(browser.redeem, code)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", [callback_of, redemption])
def test_user_who_is_erased_while_signing_in(provider, connection, ada, new_user, settings, way):
    settings.DEVICE_LOCKOUT = True
    new_member = partial(new_user, account=ada.account)

    statuses = statuses_while_erased(new_member, partial(way, provider))

    assert set(statuses) <= {200, 302, 400}


@pytest.mark.django_db(transaction=True)
def test_of_two_people_with_one_address_one_is_linked(provider, connection, bob):
    first, second = (attempts(provider, 1, email=bob.email, sub=sub)[0] for sub in "12")

    assert sorted(race(first, second), key=bool) == [False, str(bob.pk)]
    assert Identity.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_eight_redemptions_at_once_make_one_session(browser, ada):
    code = browser.visit(email=ada.email)["code"]

    answers = race(*[lambda: Browser(None).redeem(code, browser.verifier)] * 8)

    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 7


@pytest.mark.django_db(transaction=True)
def test_no_call_is_made_while_the_database_is_held(browser, provider, ada, monkeypatch):
    connections = []
    fetch = openid.provider_client.threads.submit

    def submit(*args):
        connections.append(database.connection)
        return fetch(*args)

    monkeypatch.setattr(openid.provider_client.threads, "submit", submit)
    provider.claims = {"email": ...}
    provider.userinfo = {"email": ada.email}

    assert browser.sign_in().status_code == 200
    assert connections == [None, None]  # for the token and userinfo


def test_sign_in_at_the_provider_with_a_new_browser_is_mailed(browser, bob):
    assert browser.sign_in(email=bob.email).status_code == 200
    assert not OutgoingMail.objects.filter(kind="notice.new_sign_in").exists()
    assert BROWSER_COOKIE in browser.api.cookies
    browser.api.client.cookies.clear()
    browser.api.headers["user-agent"] = "Mozilla/5.0 (Windows NT 10.0) Firefox/140.0"

    assert browser.sign_in(email=bob.email).status_code == 200

    assert OutgoingMail.objects.get(kind="notice.new_sign_in").email == bob.email
    session = bearer(bob).get("/auth/sign-ins").json()
    assert [item["way"] for item in session["items"]] == ["sso", "sso"]
