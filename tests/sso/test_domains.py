"""Mail domains, which a TXT record proves."""

import contextlib
import time
from functools import partial

import pytest
from django.db import IntegrityError

from audit.models import AuditEvent
from sso import records
from sso.models import Domain
from tests.clients import API, bearer
from tests.mailbox import mailed
from tests.races import race
from tests.sso.helpers import NameServer, publish, sso_notices

pytestmark = pytest.mark.django_db
NAME = "example.com"


@pytest.fixture
def name_server(settings):
    with NameServer() as server:
        settings.DNS_SERVERS = [server.address]
        yield server


def add(admin, name=NAME):
    return bearer(admin).post("/account/domains", {"name": name})


def prove(admin, domain):
    answer = bearer(admin).post(f"/account/domains/{domain['id']}/prove")
    return answer.status_code, answer.json().get("error")


def test_domain_is_proved_by_its_record(ada, as_ada, name_server):
    domain = add(ada, "Example.COM").json()

    assert (domain["name"], domain["proved_at"]) == (NAME, None)
    assert domain["record_name"] == f"_consulting-management.{NAME}"
    assert prove(ada, domain) == (400, "TXT record not found")
    name_server.records[domain["record_name"]] = ['"something else"']
    assert prove(ada, domain) == (400, "TXT record not found")
    publish(name_server, domain, '"another"')
    assert prove(ada, domain) == (200, None)
    name_server.records.clear()
    assert prove(ada, domain) == (200, None)  # it stays so
    assert as_ada.get("/account/domains").json()["items"][0]["proved_at"]
    kinds = [event.kind for event in AuditEvent.objects.order_by("pk")]
    assert kinds == ["domain.added", "domain.proved"]
    assert sso_notices() == [(ada.email, "proved")]
    assert f"The domain {NAME} was proved" in mailed().body.replace("\u2060", "")


def test_spaces_around_the_value_do_not_matter(ada, name_server):
    domain = add(ada).json()
    name_server.records[domain["record_name"]] = [f'" {domain["record_value"]} "']
    assert prove(ada, domain) == (200, None)


def test_unavailable_name_server_proves_no_domain(ada, settings, name_server, caplog):
    domain = add(ada).json()
    assert prove(ada, domain) == (400, "TXT record not found")
    assert "TXT lookup" not in caplog.text
    name_server.server_close()

    assert prove(ada, domain) == (400, "TXT record not found")
    assert "TXT lookup failed" in caplog.text


def test_lookups_beyond_eight_do_not_wait(ada, name_server):
    """Otherwise a domain with slow name servers could keep all threads waiting."""
    domain = add(ada).json()
    publish(name_server, domain)
    with contextlib.ExitStack() as slots:
        for _ in range(8):
            slots.enter_context(records.lookup_slots)
        start = time.monotonic()
        assert prove(ada, domain) == (400, "TXT record not found")
        assert time.monotonic() - start < records.LOOKUP_SECONDS / 2

    assert prove(ada, domain) == (200, None)


def test_domain_that_is_removed_during_its_lookup_is_404(ada, monkeypatch):
    domain = add(ada).json()
    monkeypatch.setattr(
        "sso.configuration.has_txt_record", lambda *_: Domain.objects.all().delete()
    )

    assert prove(ada, domain) == (404, "not found")


@pytest.fixture
def domains(ada, eve, name_server):
    """Two admins, each with a domain of the same name, whose record has both values."""
    pairs = [(user, add(user).json()) for user in (ada, eve)]
    publish(name_server, pairs[0][1], f'"{pairs[1][1]["record_value"]}"')
    return pairs


def test_second_company_cannot_prove_a_domain(ada, domains):
    assert [prove(*pair) for pair in domains] == [
        (200, None),
        (409, "another company has proved this domain"),
    ]
    with pytest.raises(IntegrityError, match="domain_proved_once"):
        Domain.objects.update(proved_at=Domain.objects.get(account=ada.account).proved_at)


@pytest.mark.django_db(transaction=True)
def test_one_of_two_companies_at_once_proves_a_domain(domains):
    answers = race(*[partial(prove, *pair) for pair in domains])

    assert sorted(status for status, _ in answers) == [200, 409]


@pytest.mark.parametrize(
    "name",
    ["", "x", "a b.com", "https://example.com", "a@example.com", 1, "localhost", "[127.0.0.1]"],
)
def test_invalid_domain_name_is_refused(as_ada, name):
    answer = as_ada.post("/account/domains", {"name": name})

    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["name"])


def test_domain_is_listed_once_and_fifty_times_at_most(ada):
    names = [f"{n}.example" for n in range(50)]

    assert {add(ada, name).status_code for name in names} == {201}
    assert add(ada, names[0]).json() == {"error": "domain already listed"}
    assert add(ada).json() == {"error": "too many domains"}


def test_other_companies_and_members_cannot_reach_a_domain(
    ada, as_ada, as_eve, as_bob, name_server
):
    domain = add(ada).json()
    path = f"/account/domains/{domain['id']}"

    assert as_eve.delete(path).status_code == 404
    assert as_eve.post(f"{path}/prove").status_code == 404
    assert as_bob.delete(path).status_code == 403
    assert API().delete(path).status_code == 401
    assert as_ada.delete(path).status_code == 204
    assert as_ada.delete(path).status_code == 404
