"""Limits of networks, which an operator sets in the back office or by `networklimit`."""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from audit.models import AuditEvent, Kind
from tests.races import race
from tests.requests import ask
from tests.servers import wait_until
from tests.services import query
from tests.throttling.conftest import limits
from throttling.limiter import network_limits
from throttling.models import NetworkLimit

NETWORKS = {
    "203.0.113.0/24": 200,
    "203.0.113.128/25": 50,
    "203.0.113.200": 3,
    "2001:db8:1::/48": 200,
    "2001:db8:1:2::/64": 20,
}


@pytest.fixture(autouse=True)
def read_rows(monkeypatch):
    """Empties the process's copy of the networks' limits before each test."""
    monkeypatch.setattr(network_limits, "rows", [])


@pytest.fixture
def networks(db, redis):
    for network, limit in NETWORKS.items():
        NetworkLimit.objects.set_limit(network, limit)
    network_limits.refresh()


def log_in(api, **headers):
    return api.post("/auth/login", {}, **headers)


@pytest.mark.parametrize(
    ("address", "limit"),
    [
        ("203.0.113.9", "200"),
        ("203.0.113.129", "50"),  # the longest prefix
        ("203.0.113.200", "3"),
        ("::ffff:203.0.113.9", "200"),
        ("2001:db8:1:1::9", "200"),
        ("2001:db8:1:2::9", "20"),
        ("2001:db8:2::9", "10"),
        ("192.0.2.1", "10"),
        ("unix:", "10"),
    ],
)
def test_limit_of_the_longest_prefix_is_in_the_headers(api, networks, address, limit):
    answer = log_in(api, REMOTE_ADDR=address)

    assert limits(answer)["x-ratelimit-limit"] == limit
    assert limits(answer)["x-ratelimit-remaining"] == str(int(limit) - 1)


def test_limit_of_a_network_leaves_other_tiers_alone(api, networks):
    assert limits(api.get("/nope", REMOTE_ADDR="203.0.113.200"))["x-ratelimit-limit"] == "300"


def test_exactly_the_networks_limit_is_let_through(api, networks):
    statuses = [log_in(api, REMOTE_ADDR="203.0.113.200").status_code for _ in range(4)]

    assert statuses == [400, 400, 400, 429]


def test_each_process_allows_its_part_of_a_networks_limit_during_an_outage(
    api, networks, absent_store, settings
):
    settings.WEB_CONCURRENCY = 4

    assert limits(log_in(api, REMOTE_ADDR="203.0.113.9"))["x-ratelimit-limit"] == "50"


# ---- The back office's rows ----

ADD = reverse("admin:throttling_networklimit_add")
LIST = reverse("admin:throttling_networklimit_changelist")


@pytest.fixture
def boss(operator):
    return operator


def test_limit_of_a_network_takes_no_query(api, redis, boss, costs):
    boss.post(ADD, {"network": "203.0.113.200/25", "limit": "70"})
    network_limits.refresh()

    answer = log_in(api, REMOTE_ADDR="203.0.113.200")

    assert limits(answer)["x-ratelimit-limit"] == "70"
    assert limits(log_in(api, REMOTE_ADDR="203.0.113.9"))["x-ratelimit-limit"] == "10"
    assert costs(lambda: log_in(api, REMOTE_ADDR="203.0.113.200"))[1] == 0


@pytest.mark.parametrize(
    ("network", "limit"),
    [("", "5"), ("nonsense", "5"), ("2001:db8::/65", "5"), ("192.0.2.1", "0"), ("192.0.2.1", "")],
)
def test_invalid_limits_of_networks_are_refused(boss, network, limit):
    assert boss.post(ADD, {"network": network, "limit": limit}).status_code == 200
    assert not NetworkLimit.objects.exists()


def test_invalid_row_by_psql_does_not_end_the_reading_of_limits(db, monkeypatch, caplog):
    NetworkLimit.objects.create(network="203.0.113", limit=5)
    monkeypatch.setattr("throttling.limiter.time", None)  # it would sleep
    with pytest.raises(AttributeError):
        network_limits.keep_reading()

    assert "the limits of networks could not be read" in caplog.text


def test_a_network_has_one_row_however_it_is_written(boss):
    boss.post(ADD, {"network": "192.0.2.0/24", "limit": "20"})
    boss.post(ADD, {"network": "192.0.2.77/24", "limit": "30"})

    assert [str(row) for row in NetworkLimit.objects.all()] == ["192.0.2.0/24=20"]


def test_page_of_networks_shows_the_limits_in_force(boss, settings):
    settings.RATE_LIMIT_AUTHENTICATED = 4321

    page = boss.get(LIST).content.decode()

    assert "4321" in page


# ---- manage.py networklimit ----


@pytest.fixture
def run(db, capsys):
    """Runs the command with these arguments; returns its output."""

    def run(*arguments):
        call_command("networklimit", *arguments)
        return capsys.readouterr().out.rstrip()

    return run


def test_networklimit_sets_lists_and_removes_limits(run):
    assert run() == "No network has a limit of its own."
    assert run("192.0.2.77/24", "20") == "192.0.2.0/24 now has a limit of 20 for each address."
    assert run("192.0.2.0/24", "30") == "192.0.2.0/24 now has a limit of 30 for each address."
    limited = "2001:db8:1::/48 now has a limit of 200 for each address."
    assert run("2001:DB8:1::/48", "200") == limited
    listed = [line.split() for line in run().splitlines()]
    assert listed == [["192.0.2.0/24", "30"], ["2001:db8:1::/48", "200"]]
    assert run("192.0.2.9/24", "--remove") == "192.0.2.0/24 no longer has a limit of its own."
    assert [str(row) for row in NetworkLimit.objects.all()] == ["2001:db8:1::/48=200"]


def test_second_networklimit_call_changes_nothing(run):
    run("192.0.2.0/24", "20")
    assert run("192.0.2.0/24", "20") == "192.0.2.0/24 already has a limit of 20 for each address."
    run("192.0.2.0/24", "--remove")
    assert run("192.0.2.0/24", "--remove") == "192.0.2.0/24 has no limit of its own."
    assert events_of_limits() == [
        (Kind.ADMIN_ADDED, "192.0.2.0/24=20"),
        (Kind.ADMIN_DELETED, "192.0.2.0/24=20"),
    ]


def events_of_limits():
    events = AuditEvent.objects.filter(detail__model="throttling.networklimit").order_by("pk")
    return list(events.values_list("kind", "subject"))


def test_networklimit_is_recorded_like_the_back_office(run, boss):
    run("192.0.2.0/24", "20")
    run("192.0.2.0/24", "30")
    row = NetworkLimit.objects.get()
    run("192.0.2.0/24", "--remove")
    boss.post(ADD, {"network": "192.0.2.0/24", "limit": "20"})
    page = reverse("admin:throttling_networklimit_change", args=[NetworkLimit.objects.get().pk])
    shown = {"initial-network": "192.0.2.0/24", "initial-limit": "20"}
    boss.post(page, shown | {"network": "192.0.2.0/24", "limit": "30"})
    boss.post(page.replace("change", "delete"), {"post": "yes"})

    events = AuditEvent.objects.filter(detail__model="throttling.networklimit").order_by("pk")
    details = [event.detail | {"id": None, "command": None} for event in events]
    assert details[:3] == details[3:]
    assert events_of_limits() == 2 * [
        (Kind.ADMIN_ADDED, "192.0.2.0/24=20"),
        (Kind.ADMIN_CHANGED, "192.0.2.0/24=30"),
        (Kind.ADMIN_DELETED, "192.0.2.0/24=30"),
    ]
    assert {event.detail["id"] for event in events[:3]} == {str(row.pk)}
    assert [event.actor_email for event in events] == [""] * 3 + ["op@example.com"] * 3
    assert all(event.shell_user for event in events[:3])


@pytest.mark.parametrize(
    "arguments",
    [
        *[["", "5"], ["nonsense", "5"], ["2001:db8::/65", "5"], ["192.0.2.1/33", "5"]],
        *[["192.0.2.1", "0"], ["192.0.2.1", "ten"], ["192.0.2.1", "9" * 20], ["192.0.2.1"]],
        *[["--remove"], ["192.0.2.1", "5", "--remove"], ["nonsense", "--remove"], ["x" * 99, "5"]],
    ],
)
def test_networklimit_refuses_invalid_arguments(run, arguments):
    with pytest.raises(CommandError):
        run(*arguments)
    assert not NetworkLimit.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_parallel_networklimit_calls_make_one_row():
    race(*[lambda: call_command("networklimit", "192.0.2.0/24", "20")] * 8)

    assert NetworkLimit.objects.get().limit == 20
    assert events_of_limits() == [(Kind.ADMIN_ADDED, "192.0.2.0/24=20")]


@pytest.mark.live
@pytest.mark.django_db(transaction=True)
def test_servers_apply_a_networks_limit_within_ten_seconds(new_service):
    service = new_service().start()
    ask(service.url, "GET", "/health")
    insert = "INSERT INTO throttling_networklimit (network, \"limit\") VALUES ('127.0.0.0/8', 77)"
    query(service.environment["DATABASE_URL"], insert)

    def limit():
        return ask(service.url, "POST", "/auth/login", {}).headers["x-ratelimit-limit"]

    wait_until(lambda: limit() == "77", pause=2.5)
