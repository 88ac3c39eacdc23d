"""The list of a user's connected apps, and how grants end, expire and are pruned."""

from datetime import timedelta
from functools import partial
from ipaddress import ip_network

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models import Role, User
from assistants import models
from assistants.models import Client, Grant
from audit.actors import COMMAND
from audit.models import AuditEvent, Kind
from tests.assistants.conftest import (
    INVALID_GRANT,
    REDIRECT,
    Person,
    authorization_query,
    authorize,
    can_call,
    error_of,
    grant_of,
    redeem,
    refresh,
)
from tests.clients import API
from tests.privacy.conftest import statuses_while_erased
from tests.signin.helpers import ENDINGS
from throttling.limiter import network_limits

pytestmark = pytest.mark.django_db


def test_grants_are_listed(as_ada, pair):
    [item] = as_ada.get("/auth/grants").json()["items"]

    assert item["id"] == str(Grant.objects.get().pk)
    assert (item["client_name"], item["host"]) == ("Testbench", "127.0.0.1")
    assert item["created_at"] <= item["used_at"] < item["expires_at"]


def test_grant_is_listed_once_its_code_is_redeemed(as_ada, client, ada):
    authorize(client, ada)

    assert as_ada.get("/auth/grants").json()["items"] == []


def test_user_ends_a_grant(as_ada, assistant, api, client, pair):
    grant = Grant.objects.get()

    assert as_ada.delete(f"/auth/grants/{grant.pk}").status_code == 204
    assert as_ada.get("/auth/grants").json()["items"] == []
    assert as_ada.delete(f"/auth/grants/{grant.pk}").status_code == 404
    assert not can_call(assistant)
    assert error_of(refresh(api, client, pair["refresh_token"])) == INVALID_GRANT
    event = AuditEvent.objects.get(kind=Kind.ASSISTANT_ENDED)
    assert event.actor_email == "ada@example.com"
    assert event.detail["claims"] == {"client": "Testbench"}


def test_grant_of_another_user_is_not_found(as_bob, assistant):
    assert as_bob.get("/auth/grants").json()["items"] == []
    assert as_bob.delete(f"/auth/grants/{Grant.objects.get().pk}").status_code == 404
    assert can_call(assistant)


def deactivate(ada, api):
    """Deactivate by a plain UPDATE, which leaves `token_version` as it is."""
    User.objects.filter(pk=ada.pk).update(is_active=False)


@pytest.mark.parametrize("end", [*ENDINGS, deactivate])
def test_what_ends_sessions_ends_grants(ada, new_user, api, client, assistant, pair, end):
    new_user(account=ada.account, role=Role.ADMIN)  # or the last admin could not be deactivated
    end(ada, api)

    assert not can_call(assistant)
    assert error_of(refresh(api, client, pair["refresh_token"])) == INVALID_GRANT
    assert not Grant.objects.live().exists()


def test_code_is_refused_once_sessions_have_ended(ada, api, client):
    code = authorize(client, ada)
    ada.sign_out(COMMAND)

    assert error_of(redeem(api, client, code)) == INVALID_GRANT


def test_grant_expires_after_the_longest_session(ada, api, client, time_machine, settings):
    time_machine.move_to("2026-11-21 10:00:00+00:00", tick=False)
    settings.SESSION_MAX_SECONDS = 7200
    tokens = redeem(api, client, authorize(client, ada)).json()
    time_machine.shift(7199)
    tokens = refresh(api, client, tokens["refresh_token"]).json()
    assert tokens["expires_in"] == 1
    time_machine.shift(1)

    assert error_of(refresh(api, client, tokens["refresh_token"])) == INVALID_GRANT


def test_unused_clients_are_pruned_after_ninety_days(client, pair, time_machine):
    """Apps keep their client_id when a user did not finish, and when a grant has expired."""
    unused_client = Client.objects.create(name="Unfinished", redirect_uris=[REDIRECT])
    now = timezone.now()
    Grant.objects.update(created_at=now + timedelta(days=80))
    time_machine.move_to(now + timedelta(days=89), tick=False)
    call_command("prune")
    assert {*Client.objects.all()} == {client, unused_client}

    time_machine.move_to(now + timedelta(days=90), tick=False)
    call_command("prune")
    assert [*Client.objects.all()] == [client]


def test_ended_grants_are_pruned_after_a_month(pair, time_machine):
    Grant.objects.get().end(COMMAND)
    time_machine.move_to(timezone.now() + timedelta(days=29), tick=False)
    call_command("prune")
    assert Grant.objects.exists()
    time_machine.move_to(timezone.now() + timedelta(days=2), tick=False)

    call_command("prune")

    assert not Grant.objects.exists()


@pytest.fixture
def flood(monkeypatch):
    """Registers more clients than may be unused, as ten thousand registrations would."""
    monkeypatch.setattr(models, "MAX_UNUSED_CLIENTS", 3)
    register = Client.objects.register_client
    return lambda: [register(f"Flood {n}", [REDIRECT]) for n in range(9)]


def test_unused_clients_are_limited(client, pair, flood, monkeypatch):
    monkeypatch.setattr(models, "CONSENT_TIME", timedelta())

    names = [client.name for client in flood()]

    names_left = Client.objects.filter(grants=None).values_list("name", flat=True)
    assert sorted(names_left) == names[-3:]
    assert Client.objects.filter(pk=client.pk).exists()


def test_flood_of_registrations_deletes_no_client_of_the_last_hour(client, person, ada, flood):
    created_at = timezone.now() - timedelta(minutes=59)
    Client.objects.filter(pk=client.pk).update(created_at=created_at)

    flood()

    person.sign_in(ada.email)
    assert person.allow()


def test_token_calls_work_beside_limits_of_networks(api, client, pair, monkeypatch):
    monkeypatch.setattr(network_limits, "rows", [(ip_network("203.0.113.0/24"), 5)])

    assert refresh(api, client, pair["refresh_token"]).status_code == 200


def sign_in_page(client, user):
    person = Person(authorization_query(client))
    return partial(person.sign_in, user.email)


def decision(client, user):
    person = Person(authorization_query(client))
    person.sign_in(user.email)
    return partial(person.decide, "allow")


def code_redemption(client, user):
    return partial(redeem, API(), client, grant_of(user, client).authorization_code)


def refreshed_token(client, user):
    grant = grant_of(user, client)
    token = redeem(API(), client, grant.authorization_code).json()["refresh_token"]
    return partial(refresh, API(), client, token)


def repeated_refresh(client, user):
    call = refreshed_token(client, user)
    assert call().status_code == 200
    return call


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", [
    sign_in_page, decision, code_redemption, refreshed_token, repeated_refresh,
])  # fmt: skip
def test_erasure_during_a_connection_is_no_500(ada, new_user, client, way):
    new_member = partial(new_user, account=ada.account)

    statuses = statuses_while_erased(new_member, partial(way, client))

    assert statuses[-1] in {200, 302}
    assert max(statuses) < 500, statuses
