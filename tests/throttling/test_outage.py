"""Failures of Redis: the limiter raises no error, waits briefly, and reconnects."""

import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from prometheus_client import REGISTRY

from tests.servers import wait_until
from tests.throttling.conftest import use_store
from throttling.limiter import REFUSAL_SECONDS, Decision, limiter

FULL = Decision(allowed=True, limit=300, remaining=300, reset=60)
COUNT = b"*2\r\n:1\r\n:60000\r\n"


def ordinary():
    return limiter.count_request("public", "203.0.113.9", 300, strict=False)


def credential(limit=10, caller="203.0.113.9"):
    return limiter.count_request("credential", caller, limit, strict=True)


def seconds(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def messages(caplog):
    return [record.message for record in caplog.records if record.name == "throttling"]


def test_limiter_falls_back_without_redis_at_the_start(absent_store):
    assert ordinary() == FULL
    assert credential().remaining == 9
    assert limiter.redis_state() == "fallback"


def test_limiter_notices_an_outage_of_redis_and_its_end(store, clock, caplog):
    assert ordinary().remaining == 299
    store.stop()
    assert ordinary() == FULL
    assert limiter.redis_state() == "fallback"
    assert REGISTRY.get_sample_value("limiter_store_lost") == 1
    store.start()
    assert ordinary() == FULL  # the next attempt is not due yet

    clock.now += 0.5

    assert ordinary().remaining == 299
    assert limiter.redis_state() == "ok"
    assert REGISTRY.get_sample_value("limiter_store_lost") == 0
    unavailable, available = messages(caplog)
    assert "is unavailable" in unavailable
    assert "is available again" in available


def test_restart_of_redis_between_two_requests_goes_unnoticed(store, caplog):
    ordinary()
    store.stop()
    store.start()

    assert ordinary().remaining == 299
    assert messages(caplog) == []


def test_only_one_request_waits_for_a_redis_that_hangs(store, clock):
    ordinary()
    store.process.send_signal(signal.SIGSTOP)

    assert seconds(ordinary) < 1.5
    assert seconds(lambda: [ordinary() for _ in range(100)]) < 5
    store.process.send_signal(signal.SIGCONT)
    clock.now += 0.5
    # Redis counts what it was sent while it hung.
    assert ordinary().remaining in {297, 298, 299}


def test_one_request_at_a_time_tries_an_unavailable_redis(absent_store, clock):
    ordinary()
    clock.now += 0.5
    with ThreadPoolExecutor(8) as threads:
        attempts = list(threads.map(lambda _: limiter.claim_retry(), range(40)))

    assert sum(attempts) == 1


def test_idle_connections_do_not_prolong_an_outage(fake_store, clock):
    """Each idle connection would cost a request a wait, half a second after the last wait."""
    server = fake_store(COUNT, pause=0.03)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: ordinary(), range(8)))
    assert server.connections > 1  # as many as overlap; on a busy machine not all eight
    server.generation, idle = 1, server.connections
    assert ordinary() == FULL
    clock.now += 0.5

    pool = limiter.client.connection_pool
    connections = [pool.get_connection() for _ in range(idle)]
    wait_until(lambda: server.connections > idle + 1)  # not only the one that failed is a new one
    for connection in connections:
        pool.release(connection)
    assert ordinary() != FULL


def test_many_requests_that_hang_together_log_once(store, clock, caplog):
    store.process.send_signal(signal.SIGSTOP)
    with ThreadPoolExecutor(16) as threads:
        durations = list(threads.map(lambda _: seconds(ordinary), range(64)))

    assert max(durations) < 3
    assert len(messages(caplog)) == 1


def test_redis_host_that_does_not_answer_costs_one_wait(settings):
    """The host neither accepts nor refuses connections. A full backlog stands in for it."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        address = server.getsockname()
        waiting = [socket.socket() for _ in range(2)]
        for peer in waiting:
            peer.setblocking(False)
            peer.connect_ex(address)
        use_store(settings, f"redis://127.0.0.1:{address[1]}/0")

        assert seconds(ordinary) < 1.5
        for peer in waiting:
            peer.close()


def test_silent_name_server_delays_no_second_request(settings, monkeypatch, clock):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(2))
    use_store(settings, "redis://redis.example/0")
    assert seconds(ordinary) >= 2
    clock.now += 0.5

    assert seconds(ordinary) < 1
    assert limiter.outage_reason == "TimeoutError: no answer"


@pytest.mark.parametrize(
    ("break_it", "mend_it"),
    [
        (lambda redis: redis.config_set("maxmemory", 1), lambda r: r.config_set("maxmemory", 0)),
        (lambda redis: redis.replicaof("127.0.0.1", 1), lambda r: r.replicaof("NO", "ONE")),
    ],
    ids=["out of memory", "read-only"],
)
def test_redis_that_cannot_write_is_unavailable(store, clock, break_it, mend_it):
    break_it(store.client)
    assert ordinary() == FULL
    assert limiter.redis_state() == "fallback"

    mend_it(store.client)
    clock.now += 0.5

    assert ordinary().remaining == 299


@pytest.mark.parametrize(
    "reply",
    [
        b"-LOADING Redis is loading the dataset in memory\r\n",
        b"-NOSCRIPT No matching script\r\n",
        b"+PONG\r\n",
        b"*2\r\n$1\r\na\r\n$1\r\nb\r\n",
        b"$-1\r\n",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
)
def test_invalid_answer_of_redis_is_an_outage(fake_store, reply):
    fake_store(reply)

    assert ordinary() == FULL
    assert limiter.redis_state() == "fallback"


def test_logged_reason_of_an_outage_has_no_password(settings, fake_store, caplog):
    fake_store(b"-WRONGPASS invalid username-password pair\r\n", login="user:secret@")
    ordinary()

    assert len(messages(caplog)) == 1
    assert "secret" not in caplog.text


def test_short_outage_lets_a_caller_use_the_limit_once_more_at_most(store, clock):
    assert [credential(3).allowed for _ in range(4)] == [True, True, True, False]
    store.process.send_signal(signal.SIGSTOP)
    assert not credential(3).allowed
    clock.now += REFUSAL_SECONDS
    assert [credential(3).allowed for _ in range(4)] == [True, True, True, False]
    store.process.send_signal(signal.SIGCONT)
    clock.now += REFUSAL_SECONDS

    assert not credential(3).allowed
