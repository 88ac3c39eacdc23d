"""The store fails in every way that it can: no exception, no long wait, and it is found again."""

import ipaddress
import os
import signal
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis as redis_py
from cryptography import x509
from redis import SSLConnection

from tests.certificates import self_signed
from tests.throttling.conftest import use_store
from throttling.breaker import Breaker, StoreTimeout
from throttling.counter import Decision, limiter
from throttling.store import Server, Store

FULL = Decision(allowed=True, limit=300, remaining=300, reset=60)


def ordinary():
    return limiter.count("public", "203.0.113.9", 300, strict=False)


def credential(limit=10):
    return limiter.count("credential", "203.0.113.9", limit, strict=True)


def seconds(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def standing():
    """The connections that nobody uses."""
    servers = limiter.store.servers.values()
    return [connection for server in servers for connection in server.standing]


def messages(caplog):
    return [record.message for record in caplog.records if record.name == "throttling"]


def test_absent_at_start(absent_store):
    assert ordinary() == FULL
    assert credential().remaining == 9
    assert limiter.state() == "fallback"


def test_killed(store):
    assert ordinary().remaining == 299
    store.stop()

    assert ordinary() == FULL
    assert limiter.state() == "fallback"


def test_credential_calls_are_counted_in_process_with_a_share(absent_store, settings):
    settings.WEB_CONCURRENCY = 4

    decisions = [credential(10) for _ in range(3)]

    assert [decision.allowed for decision in decisions] == [True, True, False]
    assert {decision.limit for decision in decisions} == {2}


def test_restarted_store_is_found_by_the_first_probe(store, clock, caplog):
    ordinary()
    store.stop()
    ordinary()
    store.start()
    assert ordinary() == FULL  # no probe is due yet

    clock.now += 0.5

    assert ordinary().remaining == 299
    assert limiter.state() == "ok"
    lost, found = messages(caplog)
    assert "is lost" in lost
    assert "answers again" in found


def test_restart_between_two_requests_goes_unnoticed(store, caplog):
    ordinary()
    store.stop()
    store.start()

    assert ordinary().remaining == 299
    assert messages(caplog) == []


@pytest.mark.parametrize(("pause", "connections"), [(0, 2), (0.09, 1)])
def test_store_that_hangs_up_is_asked_again_while_there_is_time(fake_store, pause, connections):
    server = fake_store(COUNT)
    ordinary()
    server.reply, server.pause = b"", pause

    assert seconds(ordinary) < 0.2
    assert (server.connections, limiter.state()) == (connections, "fallback")


def test_nobody_connects_without_the_time_for_it(fake_store, settings):
    """As after a late word of a Cluster's node that another one has the key."""
    address = ("127.0.0.1", fake_store(COUNT).port)
    plain = Server(address, settings.REDIS_CONNECTION)
    greeting = Server(address, settings.REDIS_CONNECTION | {"password": "secret"})

    assert plain.ask("EVALSHA", seconds=0.03) == (1, 60000)
    with pytest.raises(StoreTimeout, match="no time"):
        greeting.ask("EVALSHA", seconds=0.03)


def test_hanging_store_costs_two_requests_their_budget_and_the_rest_nothing(store, clock):
    ordinary()
    store.process.send_signal(signal.SIGSTOP)

    first = [seconds(ordinary) for _ in range(2)]
    rest = seconds(lambda: [ordinary() for _ in range(100)])

    assert all(0.09 < duration < 0.3 for duration in first)
    assert rest < 0.1
    assert limiter.state() == "fallback"


def test_hanging_store_is_found_again(store, clock):
    store.process.send_signal(signal.SIGSTOP)
    ordinary()
    ordinary()
    store.process.send_signal(signal.SIGCONT)
    clock.now += 0.5

    # What the store had been sent while it hung, it counts as it wakes.
    assert ordinary().remaining in {297, 298, 299}
    assert limiter.state() == "ok"


def test_one_timeout_answers_as_an_outage_but_opens_nothing(store, caplog):
    ordinary()
    store.process.send_signal(signal.SIGSTOP)
    assert credential() == Decision(allowed=True, limit=10, remaining=9, reset=60)
    store.process.send_signal(signal.SIGCONT)

    assert ordinary().remaining == 298
    assert limiter.state() == "ok"
    assert messages(caplog) == []


def test_many_requests_that_hang_together_open_it_once(store, clock, caplog):
    store.process.send_signal(signal.SIGSTOP)
    with ThreadPoolExecutor(16) as threads:
        durations = list(threads.map(lambda _: seconds(ordinary), range(64)))

    assert max(durations) < 0.3
    assert len(messages(caplog)) == 1


def test_slow_steps_share_one_budget(fake_store):
    """AUTH, SELECT and the script would take 0.27 s, none of them longer than its own 0.1 s."""
    fake_store(b"+OK\r\n", pause=0.09, login="user:secret@", database=1)

    assert seconds(ordinary) < 0.2


def test_store_that_accepts_nobody_costs_the_budget(settings):
    """Its machine is gone: nobody refuses, nobody answers. A full backlog looks like that."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        address = server.getsockname()
        waiting = [socket.socket() for _ in range(2)]
        for peer in waiting:
            peer.setblocking(False)
            peer.connect_ex(address)
        use_store(settings, f"redis://127.0.0.1:{address[1]}/0")

        assert seconds(ordinary) < 0.2
        for peer in waiting:
            peer.close()


def test_answer_that_came_while_this_process_stood_still_is_taken(store):
    """A last look before giving up: the process's own pause is not the store's silence."""
    ordinary()
    store.process.send_signal(signal.SIGSTOP)
    child = os.fork()
    if child == 0:
        os._exit(ordinary().remaining == 298)
    time.sleep(0.03)
    os.kill(child, signal.SIGSTOP)
    store.process.send_signal(signal.SIGCONT)
    time.sleep(0.25)
    os.kill(child, signal.SIGCONT)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_connections_stand_before_they_are_needed(store, settings):
    settings.WEB_THREADS = 3
    limiter.store.warm_up()

    assert [connection.is_connected for connection in standing()] == [True] * 3
    assert ordinary().remaining == 299


COUNT = b"*2\r\n:1\r\n:60000\r\n"


def certified(folder):
    """A server's TLS context, and the file by which a client knows the server."""
    authority, key = self_signed(folder, x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, key)
    return {"context": context, "authority": authority}


@pytest.fixture
def tls(tmp_path):
    return certified(tmp_path)


def test_tls_store_counts_on_one_connection(fake_store, tls):
    for _ in range(3):  # in case that a handshake on this machine takes the whole budget
        server = fake_store(COUNT, **tls)
        found = [ordinary() for _ in range(3)]
        if FULL not in found:
            break

    assert found == [Decision(allowed=True, limit=300, remaining=299, reset=60)] * 3
    assert server.connections == 1
    assert isinstance(standing()[0], SSLConnection)


def test_tls_store_of_somebody_else_is_not_believed(fake_store, tls, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    fake_store(COUNT, context=tls["context"], authority=certified(other)["authority"])

    assert ordinary() == FULL
    assert limiter.state() == "fallback"


def test_hanging_tls_store_costs_the_budget(fake_store, tls):
    fake_store(COUNT, pause=5, **tls)
    ordinary()  # loads what is loaded once

    assert seconds(ordinary) < 0.3
    assert limiter.state() == "fallback"


def test_store_out_of_memory(store, clock):
    client = redis_py.Redis(port=store.port)
    client.config_set("maxmemory", 1)
    assert ordinary() == FULL
    assert limiter.state() == "fallback"

    client.config_set("maxmemory", 0)
    clock.now += 0.5

    assert ordinary().remaining == 299
    client.close()


def test_read_only_store(store, clock):
    client = redis_py.Redis(port=store.port)
    client.replicaof("127.0.0.1", 1)
    assert ordinary() == FULL
    assert limiter.state() == "fallback"

    client.replicaof("NO", "ONE")
    clock.now += 0.5

    assert ordinary().remaining == 299
    client.close()


@pytest.mark.parametrize(
    "reply",
    [
        b"-LOADING Redis is loading the dataset in memory\r\n",
        b"-MISCONF Redis is configured to save RDB snapshots\r\n",
        b"-BUSY Redis is busy running a script\r\n",
        b"-NOAUTH Authentication required.\r\n",
        b"-NOSCRIPT No matching script\r\n",
        b"+PONG\r\n",
        b"*2\r\n$1\r\na\r\n$1\r\nb\r\n",
        b"$-1\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
)
def test_what_is_no_count_is_an_outage(fake_store, reply):
    fake_store(reply)

    assert ordinary() == FULL
    assert limiter.state() == "fallback"


def test_health_probe_finds_the_store_without_a_request(store, clock):
    store.stop()
    ordinary()
    store.start()
    limiter.probe()
    assert limiter.state() == "fallback"  # not due yet

    clock.now += 0.5
    limiter.probe()

    assert limiter.state() == "ok"


def test_health_probe_leaves_a_working_store_alone(redis):
    limiter.probe()

    assert redis.keys() == []


def test_health_probe_sees_a_store_that_cannot_write(store, clock):
    client = redis_py.Redis(port=store.port)
    client.replicaof("127.0.0.1", 1)
    ordinary()
    clock.now += 0.5
    limiter.probe()

    assert client.ping()
    assert limiter.state() == "fallback"
    client.close()


def test_reason_in_the_log_holds_no_password(settings, fake_store, caplog):
    fake_store(b"-WRONGPASS invalid username-password pair\r\n", login="user:secret@")
    ordinary()

    assert len(messages(caplog)) == 1
    assert "secret" not in caplog.text


def test_breaker_opens_at_once_at_an_error(clock):
    breaker = Breaker()
    breaker.failed(ConnectionError())

    assert breaker.is_open
    assert not breaker.admits()


def test_breaker_opens_at_two_timeouts_in_a_row(clock):
    breaker = Breaker()
    breaker.failed(StoreTimeout())
    breaker.succeeded()
    breaker.failed(StoreTimeout())
    assert not breaker.is_open

    breaker.failed(StoreTimeout())

    assert breaker.is_open


def test_breaker_lets_one_caller_probe_at_a_time(clock):
    breaker = Breaker()
    breaker.failed(ConnectionError())
    clock.now += 0.5
    with ThreadPoolExecutor(8) as threads:
        admitted = list(threads.map(lambda _: breaker.admits(), range(40)))

    assert sum(admitted) == 1


def test_breaker_probes_at_growing_intervals(clock):
    breaker = Breaker()
    breaker.failed(ConnectionError())
    probes = []
    for tenth in range(1, 250):
        clock.now = 1000 + tenth / 10
        if breaker.admits():
            breaker.failed(ConnectionError())
            probes.append(tenth / 10)

    assert probes == [0.5, 1.5, 3.5, 7.5, 12.5, 17.5, 22.5]


def test_breaker_begins_with_short_pauses_again(clock):
    breaker = Breaker()
    for _ in range(2):
        breaker.failed(ConnectionError())
        clock.now += 0.5
        assert breaker.admits()
        breaker.succeeded()

    assert not breaker.is_open


def test_lost_store_is_met_on_new_connections(store):
    ordinary()
    store.stop()
    ordinary()

    assert not standing()


def test_watch_goes_on_whatever_losing_the_store_raises(absent_store, monkeypatch):
    pauses, losses = iter("12"), []

    def fail(store):
        losses.append(store)
        raise OSError("no file descriptor is left")

    monkeypatch.setattr(Store, "lost", fail)
    monkeypatch.setattr(time, "sleep", lambda seconds: next(pauses))
    limiter.is_watched = True

    with pytest.raises(StopIteration):  # at the third pause
        limiter.watch()
    assert len(losses) == 2
    assert limiter.breaker.is_open
    assert not limiter.is_watched  # a watch that has ended leaves the probing to requests
