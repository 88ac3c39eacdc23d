"""What operators see of companies' providers, and how they stop one."""

from datetime import timedelta
from functools import partial

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import Account, User
from audit.models import AuditEvent
from config.metrics import state_of_database
from passwords.models import PasswordChange
from sso.models import Identity, IdentityProvider, ProviderMetadata
from tests.cast import PASSWORD
from tests.clients import bearer
from tests.races import call_before_commit
from tests.sso.helpers import (
    PATH,
    make_break_glass_admin,
    outcome,
    patch_provider,
    put_provider,
    sso_notices,
)
from tests.sso.provider import ANSWERS

pytestmark = pytest.mark.django_db
LIST = "/admin/accounts/connection/"


def act(operator, connection, name):
    body = {"action": name, "_selected_action": [str(connection.pk)], "post": "yes"}
    return operator.post(LIST, body)


def test_operators_switch_a_provider_off_and_allow_it_again(operator, ada, connection):
    make_break_glass_admin(ada)
    IdentityProvider.objects.update(required=True)
    assert "localhost" in operator.get(LIST).content.decode()

    act(operator, connection, "stop")

    connection.refresh_from_db()
    assert (connection.active, connection.required) == (False, False)
    assert sso_notices() == [(ada.email, "off")]
    User.objects.update(has_second_factor=False)  # the proof is the password then
    switched_off = (409, "our support team has switched the connection off")
    assert outcome(patch_provider(ada, active=True)) == switched_off
    removed = bearer(ada).call("delete", PATH, {"password": PASSWORD})
    assert outcome(removed) == switched_off
    act(operator, connection, "allow")
    assert patch_provider(ada, active=True).json()["active"] is True
    kinds = AuditEvent.objects.filter(kind__startswith="sso.").order_by("pk")
    assert [event.kind for event in kinds] == ["sso.stopped", "sso.allowed", "sso.changed"]


def test_support_mails_no_password_link_that_would_be_refused(operator, ada, bob, connection):
    make_break_glass_admin(ada)
    IdentityProvider.objects.update(required=True)
    chosen = {"action": "send_password_link", "_selected_action": [str(bob.pk)], "post": "yes"}

    page = operator.post("/admin/accounts/user/", chosen, follow=True).content.decode()

    assert "signs in at the company" in page
    assert not PasswordChange.objects.exists()


def test_command_lists_and_stops_and_allows_providers(capsys, connection):
    connection.record_problem("timeout")
    call_command("connections")
    call_command("connections", switch_off=str(connection.pk))
    call_command("connections", switch_off=str(connection.pk))
    call_command("connections")
    call_command("connections", allow=str(connection.pk))

    lines = capsys.readouterr().out.splitlines()
    assert f"{connection.issuer}  on, last problem: timeout (" in lines[0]
    said = "Analytical Engines is switched off"
    assert lines[1:3] == [f"{said}.", f"{said}, as before."]
    assert "switched off by operators" in lines[3]
    assert lines[4] == "Analytical Engines may be switched on again by its admins."
    with pytest.raises(CommandError, match="No connection"):
        call_command("connections", allow="00000000-0000-0000-0000-000000000000")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("option", ["allow", "switch_off"])
def test_command_for_a_company_that_is_being_deleted_says_that_there_is_no_connection(
    connection, option
):
    def delete_company():
        User.objects.all().delete()
        Account.objects.all().delete()

    command = partial(call_command, "connections", **{option: str(connection.pk)})

    with pytest.raises(CommandError, match=f"No connection has the ID {connection.pk}."):
        call_before_commit(delete_company, command)


def test_admin_page_of_a_user_says_where_they_sign_in(operator, ada, bob, connection):
    def sentence():
        page = operator.get(f"/admin/accounts/user/{bob.pk}/change/")
        return page.context["panel"]["diagnosis"].sentence

    assert "provider" not in sentence()
    Identity.objects.create(provider=connection, user=bob, sub="1")
    connection.record_problem("timeout")
    assert sentence().startswith("Signs in at Analytical Engines's provider; last problem: timeout")
    IdentityProvider.objects.get().record_success()
    assert "provider" not in sentence()
    make_break_glass_admin(ada)
    IdentityProvider.objects.update(required=True)
    assert sentence() == "Signs in at Analytical Engines's provider only; no problem there lately."


def test_provider_that_fails_for_an_hour_is_counted(connection, time_machine):
    def failing():
        samples = {gauge.name: gauge.samples for gauge in state_of_database()}
        return samples["sso_providers_failing"][0].value

    time_machine.move_to(timezone.now(), tick=False)
    connection.record_problem("timeout")
    time_machine.shift(timedelta(minutes=59))
    connection.record_problem("timeout")
    assert failing() == 0
    time_machine.shift(timedelta(minutes=2))
    assert failing() == 1
    IdentityProvider.objects.get().record_success()
    assert failing() == 0


UNAUTHORIZED = 401, {}, b'{"error": "unauthorized_client"}'  # Keycloak's, for a wrong secret
REFUSED = 400, {}, b'{"error": "invalid_client"}'


@pytest.mark.parametrize(("path", "answer", "problem"), [
    ("/token", REFUSED, "token: invalid_client"),
    ("/token", UNAUTHORIZED, "token: invalid_client"),
    ("/token", ANSWERS["failure"], "token: status"),
    ("/userinfo", ANSWERS["failure"], "userinfo: status"),
])  # fmt: skip
def test_provider_that_refuses_our_client_or_answers_5xx_is_failing(
    browser, provider, connection, ada, path, answer, problem
):
    provider.claims, provider.says[path] = {"email": ...}, answer

    assert browser.visit() == {"error": "provider"}
    connection.refresh_from_db()
    assert (connection.last_problem, bool(connection.failing_since)) == (problem, True)
    event = AuditEvent.objects.get(kind="login.failed")
    assert (event.subject, event.account_id) == (connection.issuer, connection.account_id)
    assert event.detail == {"reason": f"provider: {problem}"}
    provider.be_honest()
    assert browser.sign_in(email=ada.email).status_code == 200
    connection.refresh_from_db()
    assert (connection.last_problem, connection.failing_since) == ("", None)


def test_provider_without_an_answer_is_failing(browser, provider, connection, ada, settings):
    location = browser.start()
    answer = provider.approve(location, email=ada.email)
    ProviderMetadata.objects.update(metadata=ProviderMetadata.objects.get().metadata | {
        "token_endpoint": "https://localhost:1/token",
    })  # fmt: skip
    settings.SSO_PRIVATE_ISSUERS = ["https://localhost:1"]

    assert browser.bring_answer(location, answer) == {"error": "provider"}
    connection.refresh_from_db()
    assert connection.last_problem == "token: unreachable"
    assert connection.failing_since


@pytest.mark.parametrize(
    "answer", [(400, {}, b'{"error": "invalid_request"}'), (403, {}, b"<html>"), (429, {}, b"{}")]
)
def test_refused_code_is_no_failure_of_the_provider(browser, provider, connection, answer):
    provider.says["/token"] = answer

    assert "error" in browser.visit()
    connection.refresh_from_db()
    assert (connection.last_problem, connection.failing_since) == ("", None)
    assert not AuditEvent.objects.exists()


def test_wrong_answer_is_a_problem_but_no_failure(browser, provider, connection, ada):
    connection.record_problem("timeout")
    provider.claims = {"aud": "another client"}

    assert browser.visit() == {"error": "provider"}

    connection.refresh_from_db()
    assert connection.last_problem == "ID token: InvalidAudienceError"
    assert connection.failing_since is None
    assert AuditEvent.objects.filter(kind="login.failed").count() == 1


def test_secret_is_encrypted_anew_with_the_secret_key(ada, provider, settings):
    put_provider(ada, provider)
    old, settings.SECRET_KEY = settings.SECRET_KEY, "x" * 50
    settings.SECRET_KEY_FALLBACKS = [old]
    IdentityProvider.objects.encrypt_anew()
    settings.SECRET_KEY_FALLBACKS = []

    assert IdentityProvider.objects.get().secret
    settings.SECRET_KEY = "y" * 50
    IdentityProvider.objects.encrypt_anew()  # of a lost one: stays
    assert IdentityProvider.objects.get().secret == ""
