"""A company requires its provider: only break-glass admins sign in otherwise."""

import base64
import json
from functools import partial

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts import tokens
from accounts.errors import LastBreakGlassAdmin
from accounts.models import Account, User
from api.schema import openapi_json
from assistants.models import Grant
from audit.actors import COMMAND
from emailchanges.models import EmailChange, UndoEmailChange
from invitations.models import Invitation
from mail.outbox import OutgoingMail
from passwords.models import PasswordChange
from signin.credentials import Policy
from signin.factors.enrolment import enrolment_for
from signin.factors.models import Factors
from signin.models import SignupLink, UnlockLink
from sso.models import Domain, Identity, IdentityProvider
from tests.assistants.conftest import Person, authorization_query
from tests.assistants.conftest import client as oauth_client  # noqa: F401
from tests.cast import PASSWORD
from tests.clients import API, bearer
from tests.races import race
from tests.signin.factors.helpers import challenge, code, with_passkey
from tests.sso.helpers import make_break_glass_admin, outcome, patch_provider

pytestmark = pytest.mark.django_db
WRONG = {"error": "wrong e-mail or password"}
ADDRESS_REFUSED = 409, "your company manages your e-mail address"
REGISTERED = {"token": "", "first_name": "A", "last_name": "B", "password": PASSWORD}
ELSEWHERE = {"error": "sign in with your company's account", "company": "Analytical Engines"}


@pytest.fixture
def boss(new_user, ada, connection):
    """An admin of Ada's company who keeps a password; the company requires its provider."""
    boss = new_user("boss@example.com", account=ada.account)
    make_break_glass_admin(boss)
    IdentityProvider.objects.update(required=True)
    return boss


def provider_session(user):
    """A session of the user that began at the provider."""
    return API(authorization=f"Bearer {tokens.issue_pair(user, amr=['sso'])[0]}")


def log_in(email):
    return API().post("/auth/login", {"email": email, "password": PASSWORD})


def test_right_password_is_answered_like_a_wrong_one(boss, bob):
    answers = [log_in(bob.email), API().post("/auth/login", {"email": bob.email, "password": "x"})]

    assert [(answer.status_code, answer.json()) for answer in answers] == [(401, WRONG)] * 2
    assert log_in(boss.email).status_code == 200
    for user in (bob, boss):  # what the statement says is what the ORM says
        user_of_statement = User.objects.find_by_email(email=user.email)
        assert user_of_statement.must_use_provider is User.objects.get(pk=user.pk).must_use_provider


def test_session_is_refused_even_if_the_check_of_credentials_forgets_the_rule(
    boss, bob, monkeypatch
):
    monkeypatch.setattr(Policy, "admits", lambda *_: True)

    assert outcome(log_in(bob.email)) == (409, ELSEWHERE["error"])
    assert log_in(boss.email).status_code == 200


def test_users_outside_the_proved_domain_or_the_company_use_their_password(boss, bob, new_user):
    new_user("bob@elsewhere.org", account=boss.account)
    new_user("other@example.com")
    for email in ("bob@elsewhere.org", "other@example.com"):
        assert log_in(email).status_code == 200
    Domain.objects.update(proved_at=None)

    assert log_in(bob.email).status_code == 200


def test_sessions_begun_otherwise_end_and_those_of_the_provider_go_on(boss, bob):
    for method, status in (("pwd", 401), ("sso", 200)):
        access, refresh = tokens.issue_pair(bob, amr=[method])
        body = {"refresh_token": str(refresh)}
        session = API(authorization=f"Bearer {access}")
        assert session.get("/auth/me").status_code == status
        assert API().post("/auth/refresh", body).status_code == status


def test_connected_apps_end_when_the_provider_becomes_required(boss, bob, oauth_client):  # noqa: F811
    grant = Grant.objects.create(user=bob, client=oauth_client, token_version=bob.token_version)

    assert not grant.is_unended()
    assert Person(authorization_query(oauth_client)).sign_in(bob.email).status_code == 401


def test_passkeys_are_refused_while_the_provider_is_required(ada, new_user, connection):
    bob = new_user("bob@example.com", account=ada.account, role="admin")
    key, api = with_passkey(bob), API()
    for keeps, status in ((False, 401), (True, 200)):
        User.objects.filter(pk=bob.pk).update(keeps_password=keeps)
        IdentityProvider.objects.update(required=True)
        body = {"credential": key.sign(challenge(api))}
        assert api.post("/auth/passkeys/login", body).status_code == status


EXEMPT = {
    "staff": lambda bob: User.objects.filter(pk=bob.pk).update(is_staff=True),
    "superuser": lambda bob: User.objects.filter(pk=bob.pk).update(is_superuser=True),
    "operators": lambda bob: Account.objects.filter(pk=bob.account_id).update(is_operators=True),
}


@pytest.mark.parametrize("exempt", EXEMPT.values(), ids=EXEMPT)
def test_staff_and_operators_are_not_locked_out(boss, bob, exempt):
    """No provider may sign them in, so a required provider would lock them out."""
    exempt(bob)
    answer = log_in(bob.email)

    assert answer.status_code == 200
    session = API(authorization=f"Bearer {answer.json()['access_token']}")
    assert session.get("/auth/me").status_code == 200
    assert not User.objects.get(pk=bob.pk).must_use_provider


@pytest.mark.parametrize("kind", ["staff", "superuser"])
def test_admins_see_how_many_users_are_exempt(boss, bob, kind):
    EXEMPT[kind](bob)

    assert patch_provider(boss, required=True).json()["exempt_users"] == 1


def test_staff_enter_the_admin_site_while_the_provider_is_required(boss, bob):
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    browser = Client()
    browser.post("/admin/login/", {"username": bob.email, "password": PASSWORD})

    assert browser.get("/admin/").status_code == 200


def test_password_links_are_refused_while_the_provider_is_required(boss, bob):
    link = PasswordChange.objects.make_link(bob)
    link.mail_was_sent(link.created_at)
    token = PasswordChange.objects.get().token
    answer = API().post("/password-changes/redeem", {"token": token, "password": PASSWORD})
    API().post("/password-changes", {"email": bob.email})

    assert outcome(answer) == (400, "invalid or expired token")
    for kind in (PasswordChange, UnlockLink):
        assert kind.for_mail(OutgoingMail.objects.get()) is None


def test_enrolment_token_is_refused_while_the_provider_is_required(boss, bob):
    enrolling = API(authorization=f"Bearer {enrolment_for(bob)}")

    assert enrolling.post("/auth/factors/totp", {}).status_code == 401


def test_invitation_says_where_to_sign_in(boss):
    Invitation.objects.invite(boss, "new@example.com")
    Invitation.objects.invite(boss, "new@elsewhere.org")
    answers = [
        API().post("/invitations/accept", REGISTERED | {"token": invitation.token})
        for invitation in Invitation.objects.order_by("email")
    ]

    assert [answer.status_code for answer in answers] == [200, 409]
    assert answers[1].json() == ELSEWHERE
    described = json.loads(openapi_json())["components"]["schemas"]["Error"]["properties"]
    assert answers[1].json().keys() <= described.keys()


def test_employee_signs_up_no_company_of_their_own(boss):
    """The sign-in page would send them to the provider, which lets them into the other company."""
    people = REGISTERED | {"account_name": "Mine"}
    links = [SignupLink.objects.create(email=f"new@{name}") for name in ("example.com", "x.org")]
    for link in links:
        link.mail_was_sent(link.created_at)
    assert API().post("/auth/signup", {"email": links[0].email}).status_code == 200
    assert SignupLink.for_mail(OutgoingMail.objects.get(email=links[0].email))

    answers = [API().post("/auth/complete-signup", people | {"token": x.token}) for x in links]

    assert [answer.status_code for answer in answers] == [409, 200]
    assert answers[0].json() == ELSEWHERE
    assert not Account.objects.filter(users__email=links[0].email).exists()
    assert Account.objects.filter(name="Mine").count() == 1
    IdentityProvider.objects.update(required=False)
    body = people | {"token": links[0].token}
    assert API().post("/auth/complete-signup", body).status_code == 200


def test_user_cannot_change_to_an_address_outside_the_domain(boss, bob, ada):
    session = provider_session(bob)
    body = {"email": "bob@elsewhere.org", "password": PASSWORD}
    assert outcome(session.post("/auth/email-changes", body)) == ADDRESS_REFUSED
    facts = {"old_email": bob.email, "token_version": bob.token_version}
    change = EmailChange(user=bob, email="bob@elsewhere.org", **facts)
    undo = UndoEmailChange(user=bob, email="bob@elsewhere.org", new_email=bob.email)
    for link in (change, undo):
        link.save()
        link.mail_was_sent(link.created_at)

    body = {"token": EmailChange.objects.get().token}
    assert outcome(session.post("/email-changes/redeem", body)) == ADDRESS_REFUSED
    body = {"token": UndoEmailChange.objects.get().token}
    assert outcome(API().post("/email-changes/undo", body)) == ADDRESS_REFUSED
    assert User.objects.get(pk=bob.pk).email == bob.email


def test_user_cannot_change_to_an_address_that_must_use_the_provider(boss, new_user):
    """The owner of the address at the provider could sign in as the user for good."""
    guest = new_user("guest@elsewhere.example", account=boss.account)
    facts = {"old_email": guest.email, "token_version": guest.token_version}
    link = EmailChange.objects.create(user=guest, email="x@example.com", **facts)
    link.mail_was_sent(link.created_at)
    body = {"email": link.email, "password": PASSWORD}

    answers = [bearer(guest).post("/auth/email-changes", body)]
    answers.append(bearer(guest).post("/email-changes/redeem", {"token": link.token}))
    assert {*map(outcome, answers)} == {ADDRESS_REFUSED}


def test_session_of_the_provider_stays_one_with_a_first_factor(boss, bob):
    """Adding the factor ends all sessions, and the answer has a new one."""
    session = provider_session(bob)
    begun = session.post("/auth/factors/totp", {"password": PASSWORD})

    assert begun.status_code == 201
    factor_code = code(secret=base64.b32decode(begun.json()["secret"]))
    body = {"id": begun.json()["id"], "code": factor_code}
    added = session.post("/auth/factors/totp/confirm", body).json()
    again = API(authorization=f"Bearer {added['session']['access_token']}")
    assert again.get("/auth/me").status_code == 200


def test_session_of_the_provider_is_enough_to_set_up_a_second_factor(boss, ada):
    """The company also requires a second factor, and enrolment tokens are refused."""
    Account.objects.update(second_factor="required")
    session, proof = provider_session(ada), {"password": PASSWORD}

    assert session.post("/auth/factors/totp", proof).status_code == 201
    assert session.patch("/account/connection", proof).status_code == 200
    answer = session.patch("/account/connection", {"password": "x"})
    assert outcome(answer) == (403, "wrong password")


def test_second_factor_is_asked_only_of_those_who_may_sign_in_here(boss, bob, new_user):
    guest = new_user("guest@elsewhere.example", account=boss.account)
    sessions = [provider_session(bob), bearer(guest)]

    assert bearer(boss).patch("/account", {"second_factor": "required"}).status_code == 200

    assert [session.get("/auth/me").status_code for session in sessions] == [200, 401]
    assert OutgoingMail.objects.get(kind="notice.factor_required").email == guest.email


# ---- Break-glass admins ------------------------------------------------------------------------


def test_provider_is_not_required_without_a_break_glass_admin(ada, connection):
    refused = (409, "first choose an admin who keeps a password")
    assert outcome(patch_provider(ada, required=True)) == refused


@pytest.mark.parametrize(
    "lacks", [{"role": "member"}, {"has_second_factor": False}, {"password": "!"}]
)
def test_only_admins_with_password_and_factor_become_break_glass_admins(as_ada, bob, lacks):
    User.objects.filter(pk=bob.pk).update(**{"role": "admin", "has_second_factor": True} | lacks)
    answer = as_ada.patch(f"/users/{bob.pk}", {"keeps_password": True})

    assert outcome(answer) == (409, "only for admins with a password and a second factor")
    assert not User.objects.get(pk=bob.pk).keeps_password


def test_admin_chooses_who_keeps_a_password(as_ada, bob):
    User.objects.filter(pk=bob.pk).update(role="admin", has_second_factor=True)
    path = f"/users/{bob.pk}"

    assert "keeps_password" not in as_ada.get(path).json()
    assert as_ada.patch(path, {"keeps_password": True}).json()["keeps_password"] is True
    assert as_ada.get(path).json()["keeps_password"] is True
    assert as_ada.patch(path, {"keeps_password": False}).json()["keeps_password"] is False


def remove_factors(admin, boss):
    return admin.delete(f"/users/{boss.pk}/factors")


def change(**body):
    return lambda admin, boss: admin.patch(f"/users/{boss.pk}", body)


@pytest.mark.parametrize(
    "act",
    [change(keeps_password=False), change(role="member"), change(is_active=False), remove_factors],
)
def test_last_break_glass_admin_stays(boss, ada, act):
    Factors.objects.create(user=boss)
    admin = provider_session(ada)
    before = User.objects.values().get(pk=boss.pk)

    assert outcome(act(admin, boss)) == (409, "the last way back cannot be removed")
    assert User.objects.values().get(pk=boss.pk) == before
    assert Factors.objects.exists()
    make_break_glass_admin(ada)
    assert act(admin, boss).status_code < 300


@pytest.mark.django_db(transaction=True)
def test_one_of_two_last_break_glass_admins_that_leave_at_once_stays(boss, ada):
    make_break_glass_admin(ada)
    admins = [API(authorization=f"Bearer {tokens.issue_pair(user)[0]}") for user in (boss, ada)]
    calls = zip(admins, (ada, boss), strict=True)

    answers = race(*[partial(change(keeps_password=False), *call) for call in calls])

    assert sorted(answer.status_code for answer in answers) in ([200, 401], [200, 409])
    assert User.objects.break_glass_admins().count() == 1


@pytest.mark.django_db(transaction=True)
def test_break_glass_admin_who_goes_while_the_provider_becomes_required(connection, ada, new_user):
    boss = new_user(account=ada.account)
    make_break_glass_admin(boss)

    answers = race(
        partial(change(keeps_password=False), bearer(ada), boss),
        partial(patch_provider, ada, required=True),
    )

    assert sorted(answer.status_code for answer in answers) in ([200, 409], [200, 401])
    assert IdentityProvider.objects.get().required is User.objects.break_glass_admins().exists()


def test_operators_commands_also_keep_the_last_break_glass_admin(boss, ada):
    Factors.objects.create(user=boss)
    for command in (["erase", boss.email, "--yes"], ["factors", boss.email, "--remove"]):
        with pytest.raises(CommandError, match="the last way back cannot be removed"):
            call_command(*command)
    with pytest.raises(LastBreakGlassAdmin):
        Factors.objects.remove(boss, only_factor_of(boss))
    IdentityProvider.objects.get().stop(COMMAND)
    call_command("erase", boss.email, "--yes")


def only_factor_of(user):
    own = Factors.objects.get(user=user)
    return own.add_totp(b"s" * 20, 0, "").id


def test_account_page_knows_who_must_sign_in_at_the_provider_and_has_no_password(boss, bob):
    def facts(client):
        answer = client.get("/pages/account").json()
        assert set(answer) == {"must_use_provider", "has_password"}
        return answer["must_use_provider"], answer["has_password"]

    client = provider_session(bob)
    assert (facts(client), facts(bearer(boss))) == ((True, True), (False, True))
    IdentityProvider.objects.update(required=False)
    Identity.objects.create(provider=IdentityProvider.objects.get(), user=bob, sub="bob")
    assert facts(client) == (False, True)
    User.objects.filter(pk=bob.pk).update(password="!")
    assert facts(client) == (True, False)
