"""gunicorn with the settings of gunicorn.conf.py."""

import functools
import json
import os
import re
import resource
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests import servers
from tests.cast import PASSWORD
from tests.requests import ask, send

LOG_IN = {"email": "nobody@example.com", "password": PASSWORD}


def test_gunicorn_listens_where_bind_says(new_service):
    service = new_service(BIND="127.0.0.2")
    server = service.spawn("-m", "gunicorn", "config.wsgi")
    servers.wait_for_port(service.port, host="127.0.0.2")

    answer = ask(f"http://127.0.0.2:{service.port}", "GET", "/health")

    assert (answer.status, server.poll()) == (200, None)
    with pytest.raises(ConnectionRefusedError):
        ask(service.url, "GET", "/health")


def test_client_that_expects_100_continue_is_told_to_send_its_body(new_service):
    service = new_service().start()
    body = json.dumps(LOG_IN).encode()
    head = f"POST /auth/login HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as client:
        client.sendall(f"{head}Expect: 100-continue\r\n\r\n".encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 100 ")
        client.sendall(body)
        assert client.recv(1000).startswith(b"HTTP/1.1 401 ")


def test_charset_of_a_request_is_ignored(new_service):
    """Some of Python's codecs decompress, and with others Django fails before it can answer."""
    service = new_service().start()
    packed = zlib.compress(json.dumps(LOG_IN).encode())
    for charset in ("zlib", "punycode"):
        kinds = {"Content-Type": f"application/json; charset={charset}"}
        forms = {"Content-Type": f"application/x-www-form-urlencoded; charset*=utf-8''{charset}"}

        assert ask(service.url, "POST", "/auth/login", packed, **kinds).json() == {
            "error": "malformed JSON"
        }
        assert ask(service.url, "POST", "/auth/login?x=1", LOG_IN, **kinds).status == 401
        assert ask(service.url, "GET", "/auth/me?x=%ff", **kinds).status == 401
        assert ask(service.url, "POST", "/oauth/token?x=1", b"grant_type=x_", **forms).status == 400


def test_chunked_body_is_taken_up_to_the_limit(new_service):
    service, whole = new_service().start(), json.dumps(LOG_IN).encode()
    for body, status in [([whole[:9], whole[9:]], 401), ([b" " * 65_536, b" "], 413)]:
        assert ask(service.url, "POST", "/auth/login", iter(body)).status == status


def test_proxy_closes_idle_connections_first(new_service):
    """Envoy closes idle connections after an hour. Without a proxy they are closed soon."""
    seconds = []
    for proxies in ("0", "1"):
        environment = new_service(TRUSTED_PROXY_COUNT=proxies).environment
        command = [sys.executable, "-m", "gunicorn", "--print-config", "config.wsgi"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        seconds.append(int(re.search(r"^keepalive += (\d+)$", done.stdout, re.MULTILINE)[1]))

    assert 0 < seconds[0] < 60
    assert seconds[1] > 3600


def test_ctrl_c_does_not_wait_for_idle_connections(new_service):
    service = new_service(TRUSTED_PROXY_COUNT="1")
    server = service.spawn("-m", "gunicorn", "config.wsgi", start_new_session=True)
    servers.wait_for_port(service.port)
    with closing(HTTPConnection("127.0.0.1", service.port, timeout=30)) as connection:
        assert send(connection, "GET", "/health").headers["Connection"] == "keep-alive"
        os.killpg(server.pid, signal.SIGINT)

        assert server.wait(5) == 0  # after about half a second


def test_boundary_of_a_form_reaches_the_application(new_service):
    service = new_service().start()
    token = ask(service.url, "GET", "/admin/login/").headers["Set-Cookie"].split(";")[0]
    part = b'--x\r\nContent-Disposition: form-data; name="username"\r\n\r\nbob@example.com'
    headers = {"Cookie": token, "X-CSRFToken": token.partition("=")[2], "Origin": service.url}
    headers["Content-Type"] = "multipart/form-data; boundary=x; Charset*=utf-8''zlib"
    answer = ask(service.url, "POST", "/admin/login/", part + b"\r\n--x--\r\n", **headers)

    assert (answer.status, b"bob@example.com" in answer.body) == (200, True)


def test_runserver_signs_in(new_service):
    service = new_service().add_operator(LOG_IN["email"])
    service.spawn("manage.py", "runserver", "--noreload", str(service.port))
    servers.wait_for_port(service.port)

    assert ask(service.url, "POST", "/auth/login", LOG_IN).status == 200


def test_other_calls_are_answered_while_a_crowd_logs_in(new_service):
    service = new_service(WEB_THREADS="8", RATE_LIMIT_CREDENTIAL="1000").start()

    with ThreadPoolExecutor(40) as clients:
        crowd = [clients.submit(ask, service.url, "POST", "/auth/login", LOG_IN) for _ in range(40)]
        health = [ask(service.url, "GET", "/health").status for _ in range(3)]
        answers = [log_in.result() for log_in in crowd]

    assert health == [200, 200, 200]
    assert {answer.status for answer in answers} <= {401, 429, 503}
    refused = [answer for answer in answers if answer.status == 503]
    assert all(answer.headers["Retry-After"] for answer in refused)


def test_few_threads_let_log_ins_wait_for_their_turn(new_service):
    service = new_service(WEB_THREADS="4", RATE_LIMIT_CREDENTIAL="1000").start()
    bodies = [LOG_IN | {"email": f"{number}@example.com"} for number in range(16)]

    with ThreadPoolExecutor(16) as clients:
        answers = clients.map(lambda body: ask(service.url, "POST", "/auth/login", body), bodies)

    assert [answer.status for answer in answers] == [401] * 16


def test_ctrl_c_ends_the_service_and_its_files(new_service, tmp_path):
    """The terminal sends SIGINT to the whole process group."""
    service = new_service(METRICS_TOKEN="t" * 32, TMPDIR=str(tmp_path), WEB_CONCURRENCY="2")
    server = service.spawn("-m", "gunicorn", "config.wsgi", start_new_session=True)
    servers.wait_for_port(service.port, 60)
    assert ask(service.url, "GET", "/health").status == 200
    os.killpg(server.pid, signal.SIGINT)

    assert server.wait(60) == 0
    assert "Traceback" not in service.log
    assert "/health" in service.log
    assert list(Path(tmp_path).glob("consulting-metrics-*")) == []


def test_stopped_reader_of_the_log_stops_no_request(new_service):
    service = new_service(METRICS_TOKEN="t" * 32, RATE_LIMIT_PUBLIC="100000")
    reader, writer = os.pipe()
    server = service.spawn("-m", "gunicorn", "config.wsgi", stdout=writer, stderr=writer)
    os.close(writer)
    servers.wait_for_port(service.port, 60)

    def dropped():
        metrics = ask(service.url, "GET", "/metrics", authorization=f"Bearer {'t' * 32}").body
        [line] = [x for x in metrics.decode().splitlines() if x.startswith("log_lines_dropped_t")]
        return float(line.split()[1])

    begun = time.monotonic()
    with ThreadPoolExecutor(4) as clients:
        while dropped() == 0:
            assert time.monotonic() - begun < 120
            list(clients.map(lambda _: ask(service.url, "GET", "/none"), range(500)))
    assert ask(service.url, "GET", "/health").status == 200
    with os.fdopen(reader, "rb") as log, ThreadPoolExecutor(1) as threads:
        text = threads.submit(log.read)  # the reader goes on
        server.terminate()
        assert server.wait(60) == 0
    assert b"/metrics" in text.result()


def test_odd_spellings_of_a_path_are_counted(new_service):
    """A path counts once decoded. Two slashes make it an unknown path."""
    service = new_service(RATE_LIMIT_CREDENTIAL="3", RATE_LIMIT_PUBLIC="3").start()
    for path, status in [("/auth/%6cogin", 401), ("//auth/login", 404)]:
        answers = [ask(service.url, "POST", path, LOG_IN) for _ in range(4)]
        assert [answer.status for answer in answers] == [status] * 3 + [429]

    assert ask(service.url, "POST", "/auth/login", LOG_IN).status == 429


def test_emptied_folder_of_temporary_files_stops_no_new_process(new_service, tmp_path):
    token = {"authorization": f"Bearer {'t' * 32}"}
    service = new_service(METRICS_TOKEN="t" * 32, TMPDIR=str(tmp_path), WEB_CONCURRENCY="1")
    service.start()
    assert ask(service.url, "GET", "/metrics", **token).status == 200
    for folder in tmp_path.glob("consulting-metrics-*"):
        shutil.rmtree(folder)
    [old] = children(service.server.pid)
    os.kill(old, signal.SIGTERM)
    servers.wait_until(lambda: children(service.server.pid) not in ([old], []))

    assert ask(service.url, "GET", "/auth/me").status == 401
    metrics = servers.wait_until(lambda: ask(service.url, "GET", "/metrics", **token).body)
    assert b'route="auth/me"' in metrics


def test_connections_beyond_the_usual_limit_of_open_files_end_no_process(new_service):
    """Such as a proxy keeps: gunicorn's process ends when it can't accept the next one."""
    service = new_service(TRUSTED_PROXY_COUNT="1")  # else idle connections are closed soon
    limits = (128, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
    server = service.spawn("-m", "gunicorn", "config.wsgi", preexec_fn=limit)
    servers.wait_for_port(service.port, 60)
    processes = servers.wait_until(lambda: children(server.pid))
    with ExitStack() as opened:
        for _ in range(200):
            client = HTTPConnection("127.0.0.1", service.port, timeout=30)
            opened.enter_context(closing(client)).request("GET", "/health/live")
            assert client.getresponse().read() == b'{"status":"ok"}'

        assert children(server.pid) == processes


def test_sandbox_that_forbids_more_open_files_stops_no_start(monkeypatch):
    def forbid(*_):
        raise PermissionError

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", forbid)

    assert runpy.run_path("gunicorn.conf.py")["worker_class"] == "gthread"


def test_hup_fails_no_request(new_service):
    """While gunicorn replaces its processes, each request of four clients is answered."""
    service = new_service(WEB_CONCURRENCY="2", RATE_LIMIT_AUTHENTICATED="100000").start()
    statuses, is_over = [], threading.Event()

    def two_processes():
        pids = children(service.server.pid)
        return pids if len(pids) == 2 else []  # gunicorn forks them up to 0.1 s apart

    old = servers.wait_until(two_processes)

    def call():
        while not is_over.is_set():
            statuses.append(ask(service.url, "GET", "/auth/me").status)

    with ThreadPoolExecutor(4) as clients:
        callers = [clients.submit(call) for _ in range(4)]
        try:
            service.server.send_signal(signal.SIGHUP)
            servers.wait_until(lambda: (new := two_processes()) and not set(old) & set(new))
        finally:
            is_over.set()
        for caller in callers:
            caller.result()

    assert set(statuses) == {401}


def children(pid):
    """The numbers of its child processes."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
