"""No client holds a thread by saying nothing, or half; and a crowd at the log-in no other's."""

import os
import selectors
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPResponse

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger

from config import gunicorn
from config.worker import Worker
from signin import hashers
from tests import servers
from tests.requests import ask

LOG_IN, OTHER = b"POST /auth/login HTTP/1.1\r\n\r\n", b"GET /health HTTP/1.1\r\n\r\n"
SILENT = [b""]
HALVES = [
    b"GET /hea",
    b"POST /auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
    b"POST /auth/me HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"POST /auth/me HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{",
]


class Running:
    """A worker of two threads, one for sign-ins, and an application that answers a GET at once, a
    POST when it is released, each with the time since which its client has waited."""

    def __init__(self):
        self.released = threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        config = Config()
        config.set("threads", 2)
        config.set("keepalive", 1)
        log = Logger(config)
        self.worker = Worker(1, os.getppid(), [self.listener], None, 30, config, log)
        self.worker.tpool = self.worker.get_thread_pool()
        self.worker.poller = selectors.DefaultSelector()
        self.worker.method_queue.init()
        self.worker.wsgi = self.answer
        self.thread = threading.Thread(target=self.worker.run)
        self.thread.start()

    def answer(self, environ, start_response):
        since = repr(hashers.waiting_since.get()).encode()
        if environ["REQUEST_METHOD"] == "POST":
            self.released.wait(10)
        start_response("200 OK", [("Content-Length", f"{len(since)}")])
        return [since]

    def send(self, request):
        client = socket.create_connection(self.listener.getsockname(), timeout=5)
        client.sendall(request)
        return client

    def stop(self):
        self.released.set()
        self.worker.handle_exit(None, None)
        self.thread.join()
        self.worker.tmp.close()


def body_of(client):
    """Of one answer."""
    answer = HTTPResponse(client)
    answer.begin()
    return answer.read().decode()


@pytest.fixture
def running(monkeypatch):
    monkeypatch.setattr(hashers, "MAX_PARALLEL_HASHES", 1)
    running = Running()
    yield running
    running.stop()


def test_crowd_at_the_log_in_holds_no_other_thread(running):
    crowd = [running.send(LOG_IN) for _ in range(20)]

    with closing(running.send(OTHER)) as other:
        assert body_of(other) == "None"
    running.released.set()
    assert all(body_of(client) for client in crowd)
    for client in crowd:
        client.close()


def test_without_sign_ins_all_threads_serve_the_others(running):
    begin = time.monotonic()
    two = [running.send(b"POST /slow HTTP/1.1\r\n\r\n") for _ in range(2)]

    while running.worker.nr_conns < 2:
        assert time.monotonic() < begin + 5
    running.released.set()
    assert [body_of(client) for client in two] == ["None", "None"]
    for client in two:
        client.close()


def test_time_in_the_queue_counts_as_waiting(running):
    begin = time.monotonic()
    first, second = running.send(LOG_IN), running.send(LOG_IN)
    time.sleep(0.2)
    sent = time.monotonic()
    running.released.set()

    assert begin <= float(body_of(first)) < sent
    assert begin <= float(body_of(second)) < sent
    first.close()
    second.close()


def test_request_in_parts_is_answered_and_its_connection_kept(running):
    with closing(running.send(OTHER[:9])) as client:
        for _ in range(2):
            time.sleep(0.1)
            client.sendall(OTHER[9:])
            assert body_of(client) == "None"
            client.sendall(OTHER[:9])


def test_requests_one_behind_the_other_are_answered(running):
    with closing(running.send(OTHER * 3)) as client:
        client.sendall(OTHER.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        answers = b"".join(iter(lambda: client.recv(4096), b""))

    assert answers.count(b"200 OK") == 4


@pytest.mark.parametrize("sent", SILENT + HALVES[:2])
def test_connection_that_asks_for_nothing_ends_in_time(running, sent):
    begin = time.monotonic()
    with closing(running.send(sent)) as client:
        client.settimeout(10)
        for byte in sent[:3]:  # a byte now and then prolongs nothing
            time.sleep(0.3)
            client.sendall(bytes([byte]))
        assert client.recv(100) == b""

    assert 0.9 < time.monotonic() - begin < 4  # it looks once a second


def test_silent_and_half_sent_connections_keep_nobody_waiting(
    new_service,
):
    service = new_service().start()

    def connect(sent):
        client = socket.create_connection(("127.0.0.1", service.port))
        client.sendall(sent)
        return client

    with ExitStack() as stack:
        for sent in SILENT * 64 + HALVES * 4:
            stack.enter_context(closing(connect(sent)))
        waits, end = [], time.monotonic() + 7
        while time.monotonic() < end:
            begin = time.monotonic()
            assert ask(service.url, "GET", "/health").status == 200
            waits.append(time.monotonic() - begin)
            time.sleep(0.02)

    assert max(waits) < 1


@pytest.mark.parametrize("sockets", range(1, 6))
@pytest.mark.parametrize("processes", range(1, 6))
def test_sockets_are_shared_out_evenly(monkeypatch, sockets, processes):
    monkeypatch.setattr(gunicorn, "workers", processes)
    shares = [gunicorn.share(list(range(sockets)), number) for number in range(processes)]

    assert {sock for share in shares for sock in share} == set(range(sockets))
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_gunicorn_listens_where_bind_says(new_service):
    service = new_service(BIND="127.0.0.2")
    server = service.spawn("-m", "gunicorn", "config.wsgi")
    servers.wait_for_port(service.port, host="127.0.0.2")

    answer = ask(f"http://127.0.0.2:{service.port}", "GET", "/health")

    assert (answer.status, server.poll()) == (200, None)
    with pytest.raises(ConnectionRefusedError):
        ask(service.url, "GET", "/health")


def test_gunicorn_answers_others_before_a_crowd_has_logged_in(
    new_service,
):
    service = new_service(WEB_THREADS="2", RATE_LIMIT_CREDENTIAL="1000").start()
    body = {"email": "nobody@example.com", "password": "correct horse battery"}

    with ThreadPoolExecutor(40) as clients:
        crowd = [clients.submit(ask, service.url, "POST", "/auth/login", body) for _ in range(40)]
        assert crowd[0].result().status == 401
        health = [ask(service.url, "GET", "/health").status for _ in range(3)]
        waiting = [log_in for log_in in crowd if not log_in.done()]

    assert health == [200, 200, 200]
    assert waiting
    assert {log_in.result().status for log_in in crowd} <= {401, 429, 503}
