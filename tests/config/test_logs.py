"""Log lines: one for each request and audit event, with an id, without secrets or forgeries."""

import json
import logging
import re
import sys
from io import StringIO

import pytest

from base.caller import Caller, current_caller
from config.logs import BackgroundHandler, JSONFormatter, TextFormatter, WithoutRequestText
from tests.cast import PASSWORD
from tests.requests import ask

pytestmark = pytest.mark.django_db


def record(message, *args, **extra):
    return logging.getLogger("access").makeRecord(
        "access", logging.INFO, "f", 1, message, args, extra.pop("exc_info", None), extra=extra
    )


def requests_of(caplog):
    return [r.fields for r in caplog.records if r.name == "access"]


def test_request_is_logged_in_one_line_without_its_query(as_ada, ada, caplog):
    with caplog.at_level(logging.INFO):
        answer = as_ada.get("/auth/me?token=secret")
    [line] = requests_of(caplog)

    assert (line["method"], line["path"], line["status"]) == ("GET", "/auth/me", 200)
    assert (line["address"], line["user"]) == ("127.0.0.1", str(ada.pk))
    assert re.fullmatch("[0-9a-f]{16}", answer["X-Request-ID"])
    assert "secret" not in caplog.text


def test_log_in_is_logged_with_its_user_and_as_an_event(api, ada, caplog):
    with caplog.at_level(logging.INFO):
        api.post("/auth/login", {"email": ada.email, "password": PASSWORD})

    assert requests_of(caplog)[0]["user"] == str(ada.pk)


def test_user_of_a_session_is_logged_where_a_page_has_loaded_it(operator, caplog):
    with caplog.at_level(logging.INFO):
        for path in ("/admin/", "/admin/nowhere/", "/login", "/health"):
            operator.get(path)
    users = [line.get("user") for line in requests_of(caplog)]

    assert users == [operator.session["_auth_user_id"]] * 2 + [None] * 2


@pytest.mark.parametrize("encoded", ["%23", "%2523", "%252523"])
@pytest.mark.parametrize(
    "path", ["/unlock", "/sso", "/nowhere", "/auth/me", "/admin/x", "/static/x"]
)
def test_fragment_in_a_path_is_not_logged(api, caplog, path, encoded):
    with caplog.at_level(logging.INFO):
        api.get(f"{path}{encoded}token=secret", headers={"referer": f"/x{encoded}token=secret"})

    assert requests_of(caplog)[0]["path"] == path
    assert "secret" not in caplog.text


@pytest.mark.parametrize("path", ["/health", "/nowhere", "/admin/", "/auth/me", "/static/x"])
def test_every_answer_names_its_request(api, path):
    assert api.get(path)["X-Request-ID"] != api.get(path)["X-Request-ID"]


def test_request_id_is_taken_over_from_a_trusted_proxy_alone(api, settings):
    headers = {"x-request-id": "front-0123456789"}
    assert api.get("/nowhere", headers=headers)["X-Request-ID"] != "front-0123456789"
    settings.TRUSTED_PROXY_COUNT = 1

    assert api.get("/nowhere", headers=headers)["X-Request-ID"] == "front-0123456789"


@pytest.mark.parametrize("bad", ["short", "x" * 65, "with space in it", "a=b;c,d{}<>", "é" * 9])
def test_unsafe_request_id_is_replaced(api, settings, bad):
    settings.TRUSTED_PROXY_COUNT = 1
    answer = api.get("/nowhere", headers={"x-request-id": bad})

    assert re.fullmatch("[0-9a-f]{16}", answer["X-Request-ID"])


TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("traceparent", "logged"),
    [
        (f"00-{TRACE}-{PARENT}-01", TRACE),
        (f"00-{TRACE}-{PARENT}", None),
        (f"00-{TRACE.upper()}-{PARENT}-01", None),
        ("", None),
    ],
)
def test_valid_traceparent_is_logged_as_trace_id(api, caplog, traceparent, logged):
    with caplog.at_level(logging.INFO):
        api.get("/nowhere", headers={"traceparent": traceparent})

    assert requests_of(caplog)[0].get("trace_id") == logged


def test_text_line_cannot_be_forged():
    forged = record("to %s", "x\r\n2030 INFO\x1b[2J", fields={"path": '/a" user=\n1', "n": 1})
    line = TextFormatter().format(forged)

    assert "\n" not in line
    assert line.endswith(r'[-] to x\r\n2030 INFO\x1b[2J path="/a\" user=\n1" n=1')


def test_json_line_is_one_object():
    line = JSONFormatter().format(record("request", fields={"path": "/\u2028\n", "status": 200}))

    assert "\n" not in line
    assert json.loads(line) | {"time": 0} == {
        "time": 0,
        "level": "INFO",
        "logger": "access",
        "request_id": "-",
        "message": "request",
        "path": "/\u2028\n",
        "status": 200,
    }


def test_line_is_written_in_the_background_with_its_request(monkeypatch):
    root, written = logging.getLogger(), StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    handler = BackgroundHandler()
    handler.setFormatter(TextFormatter())
    monkeypatch.setattr(root, "handlers", [handler])
    token = current_caller.set(Caller("127.0.0.1", "", "request-1"))
    try:
        raise ValueError("wrong")
    except ValueError:
        root.exception("failed", extra={"fields": {"n": 1}})
    finally:
        current_caller.reset(token)
    handler.close()

    first, *trace = written.getvalue().splitlines()
    assert first.endswith(" ERROR root [request-1] failed n=1")
    assert trace[-1] == "    ValueError: wrong"


def test_gunicorn_repeats_no_request():
    bad = record("Invalid request from ip=1.2.3.4: GET /?token=secret")
    failed = record("Error handling request %s", "/x?token=secret")
    with_fragment = record("Error handling request %s", "/unlock%2523token=secret")
    for each in (bad, failed, with_fragment):
        WithoutRequestText().filter(each)
        assert "secret" not in each.getMessage()


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_running_service_logs_no_secret(new_service, log_format):
    """A walk with its mistakes: secrets in the wrong places, and what no HTTP is."""
    service = new_service(LOG_FORMAT=log_format).start()
    ask(service.url, "POST", "/auth/signup", {"email": "ada@example.com"})
    service.manage("runworker", "--once")
    [mail] = (service.folder / "mails").iterdir()
    link = re.search(r"#token=(\S{64})", mail.read_text())[1]
    person = {"token": link, "account_name": "A", "first_name": "Ada", "last_name": "L"}
    done = ask(service.url, "POST", "/auth/register", person | {"password": PASSWORD}).json()
    access, refresh = done["access_token"], done["refresh_token"]
    ask(service.url, "POST", "/auth/login", {"email": "ada@example.com", "password": "wrong-pass"})
    ask(service.url, "POST", "/auth/login", {"email": [PASSWORD], "password": PASSWORD})
    ask(service.url, "POST", "/auth/login", f'{{"password": "{PASSWORD}"'.encode())
    ask(service.url, "GET", f"/auth/me?token={access}", authorization=f"Bearer {access}")
    ask(service.url, "POST", f"/auth/refresh?{refresh}", cookie=f"service_refresh={refresh}")
    ask(service.url, "GET", f"/admin/login/?{link}", authorization=f"Bad {access}")
    ask(service.url, "GET", "/auth/me", authorization="Bearer " + access[:-3])
    ask(service.url, "G@T", f"/?{link}", **{f"{refresh} bad": "header"})
    ask(service.url, "HEAD", "/health")
    for start in ("/unlock", "/sso", "/nowhere", "/?next="):
        for encoded in ("#", "%23", "%2523"):
            headers = {"Referer": f"{service.url}{start}{encoded}token={link}"}
            ask(service.url, "GET", f"{start}{encoded}token={link}", **headers)
    service.stop()
    log = service.log

    assert log.count("/auth/register") == 1
    assert "login.failed" in log
    assert "gunicorn.http" not in log  # a warning for each HEAD
    for secret in (PASSWORD, "wrong-pass", link, access[-40:], refresh[-40:], "#token="):
        assert secret not in log
    if log_format == "json":
        assert all(json.loads(line) for line in log.splitlines())
