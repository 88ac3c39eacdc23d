"""SENTRY_DSN: an error is reported with its place in the code, and nothing of a person."""

import gzip
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread

import pytest

from config.sentry import without_personal_data
from tests.cast import PASSWORD
from tests.requests import ask
from tests.services import query

QUOTES_ITS_ROW = """
    CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
        $$BEGIN RAISE unique_violation USING MESSAGE = 'taken: ' || NEW.email; END$$;
    CREATE TRIGGER fail BEFORE INSERT ON throttling_lockout
        FOR EACH ROW EXECUTE FUNCTION fail();
"""


@pytest.fixture
def sentry():
    """A DSN, and the list of events that are sent to it."""
    bodies = Queue()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            is_packed = self.headers.get("Content-Encoding") == "gzip"
            bodies.put((gzip.decompress(body) if is_packed else body).decode())
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://public@127.0.0.1:{server.server_port}/1", bodies
        server.shutdown()


def test_error_is_reported_without_personal_data(sentry, new_database, new_service):
    dsn, bodies = sentry
    url = new_database()
    query(url, QUOTES_ITS_ROW)
    service = new_service(DATABASE_URL=url, SENTRY_DSN=dsn, TRUSTED_PROXY_COUNT="1").start()
    headers = {"X-Request-ID": "request-of-ada", "X-Forwarded-For": "203.0.113.77"}
    body = {"email": "ada@example.com", "password": PASSWORD}
    answer = ask(service.url, "POST", "/auth/login?next=secret", body, **headers)
    envelope = bodies.get(timeout=30)
    event = json.loads(envelope.splitlines()[2])

    assert answer.status == 500
    assert event["exception"]["values"][-1]["type"] == "IntegrityError"
    assert event["tags"] == {"request_id": "request-of-ada"}
    for personal in ("ada@example.com", PASSWORD, "next=secret", "203.0.113.77"):
        assert personal not in envelope


def test_fragment_in_a_path_is_neither_reported_nor_logged(sentry, new_database, new_service):
    dsn, bodies = sentry
    url = new_database()
    query(url, "DROP TABLE django_session")
    service = new_service(DATABASE_URL=url, SENTRY_DSN=dsn).start()
    path = "/admin/x%23token=secret"
    answer = ask(service.url, "GET", path, Cookie=f"sessionid={'x' * 32}", Referer=path)
    envelope = bodies.get(timeout=30)
    service.stop()

    assert (answer.status, "/admin/x failed" in service.log) == (500, True)
    assert "secret" not in envelope
    assert "secret" not in service.log


def test_fragment_in_a_message_is_not_reported():
    event = {"logentry": {"message": "Error handling request /sso%23code=secret"}}

    assert "secret" not in str(without_personal_data(event, None))
