"""The service as its users meet it: through nginx, over TLS."""

import gzip
import json
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import psycopg
import pytest

from tests.cast import PASSWORD
from tests.deploy.conftest import HOST, Nginx
from tests.privacy.helpers import FILL
from tests.requests import ask
from tests.services import query

pytestmark = pytest.mark.deploy

FORM = "application/x-www-form-urlencoded"
LOGIN = {"email": "ada@example.com", "password": PASSWORD}


def test_configuration_has_no_warning(nginx):
    done = subprocess.run([*nginx.command, "-t"], capture_output=True, text=True, check=True)

    assert "[warn]" not in done.stderr


def test_sign_in_with_a_secure_cookie(nginx):
    answer = nginx.ask("POST", "/auth/login", LOGIN)
    cookie, _, attributes = answer.headers["Set-Cookie"].partition("; ")

    assert answer.status == 200
    assert {"Secure", "Path=/auth"} <= set(attributes.split("; "))
    assert "max-age=31536000" in answer.headers["Strict-Transport-Security"]
    assert nginx.ask("POST", "/auth/refresh", Cookie=cookie).status == 200  # by it alone


def test_plain_http_is_sent_to_https(nginx):
    url = f"http://127.0.0.1:{nginx.http_port}"

    answer = ask(url, "GET", "/auth/me", Host="evil.example")

    assert (answer.status, answer.headers["Location"]) == (308, f"https://{HOST}/auth/me")


def test_limits_count_the_client_whatever_it_claims(nginx):
    statuses = []
    for number in range(12):
        claim = f"203.0.113.{number}"
        lines = {"X-Forwarded-For": claim, "x-forwarded-for": "127.0.0.2"}
        lines |= {"X-Real-IP": claim, "Forwarded": f"for={claim}"}
        answer = nginx.ask("POST", "/auth/refresh", {}, address="127.0.0.3", **lines)
        statuses.append(answer.status)
    other = nginx.ask("POST", "/auth/refresh", {}, address="127.0.0.2")

    assert statuses == [401] * 10 + [429] * 2
    assert (other.status, other.headers["x-ratelimit-remaining"]) == (401, "9")


def test_answers_without_a_secret_beside_the_callers_words_are_compressed(nginx):
    signed_in = nginx.ask("POST", "/auth/login", LOGIN, Accept_Encoding="gzip")
    bearer = f"Bearer {signed_in.json()['access_token']}"
    asked = {"Accept_Encoding": "gzip", "Authorization": bearer}
    schema = nginx.ask("GET", "/schema", **asked)
    office = nginx.ask("GET", "/admin/login/", Accept="text/html", **asked)

    assert signed_in.status == office.status == 200
    assert "Content-Encoding" not in signed_in.headers
    assert "Content-Encoding" not in office.headers
    assert schema.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(schema.body))


def test_request_id_is_one_in_answer_and_logs(site):
    nginx, service = site.nginx, site.service
    answer = nginx.ask("GET", "/auth/me?secret=1", X_Request_ID="chosen-by-client")

    nginx.stop()  # both log after they have answered
    service.stop()
    given = answer.headers["X-Request-ID"]
    assert f"[{given}]" in service.log
    [line] = [line for line in nginx.log_path.read_text().splitlines() if given in line]
    assert "GET /auth/me 401" in line


def test_unknown_host_is_refused(nginx):
    answer = nginx.ask("GET", "/auth/me", Host="evil.example")

    assert (answer.status, answer.json()) == (400, {"error": "invalid host"})


def test_chunked_body_arrives_whole(nginx):
    whole = json.dumps(LOGIN).encode()

    assert nginx.ask("POST", "/auth/login", iter([whole[:9], whole[9:]])).status == 200


def test_call_that_waits_for_another_server_is_answered(nginx):
    token = nginx.ask("POST", "/auth/login", LOGIN).json()["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    domain = nginx.ask("POST", "/account/domains", {"name": "example.com"}, **bearer).json()

    answer = nginx.ask("POST", f"/account/domains/{domain['id']}/prove", **bearer)

    assert (answer.status, answer.json()) == (400, {"error": "TXT record not found"})


def test_service_reads_the_longest_lines_that_nginx_passes_on(nginx):
    assert nginx.ask("GET", f"/health?{'x' * 8_000}").status == 200


def test_slow_clients_hold_no_thread(nginx):
    """Twenty half-sent requests, five for each of the service's threads."""
    head = f"POST /auth/login HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 100\r\n\r\n{{"
    slow = [nginx.connect() for _ in range(20)]
    for connection in slow:
        connection.sendall(head.encode())

    assert nginx.ask("POST", "/auth/login", LOGIN).status == 200  # nginx waits for 4 s alone
    for connection in slow:
        connection.close()


def test_post_on_a_kept_connection_never_meets_its_end(site, tmp_path):
    """20 clients send 26 POSTs each, as far apart as nginx keeps idle connections; the service's
    processes are replaced meanwhile. nginx would not repeat a POST, and say 503."""
    rhythm = "keepalive_timeout 1s;"
    nginx = Nginx(tmp_path / "short", site.sockets.path, changes={"keepalive_timeout 60s;": rhythm})
    nginx.start()

    def post(client):
        statuses = []
        for number in range(26):
            answer = nginx.ask("POST", "/health", address=f"127.0.0.{10 + client}")
            statuses.append(answer.status)
            time.sleep(1 + (number % 5 - 2) / 1000)
            if client == 0 and number == 12:
                site.service.server.send_signal(signal.SIGHUP)
        return statuses

    try:
        with ThreadPoolExecutor(20) as clients:
            statuses = [status for sent in clients.map(post, range(20)) for status in sent]
    finally:
        nginx.stop()

    assert statuses == [405] * 520


def test_slow_answer_arrives_and_fast_ones_pass_it(shared_site):
    """A query that waits for a lock holds one thread of the service, and nobody else."""
    nginx, url = shared_site.nginx, shared_site.service.environment["DATABASE_URL"]
    token = nginx.ask("POST", "/auth/login", LOGIN).json()["access_token"]
    bearer = {"Authorization": f"Bearer {token}"}
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with ThreadPoolExecutor(1) as thread, psycopg.connect(url) as holder:
        holder.execute("LOCK TABLE invitations_invitation IN ACCESS EXCLUSIVE MODE")
        slow = thread.submit(nginx.ask, "GET", "/invitations", **bearer)
        while not query(url, waiting):
            assert not slow.done(), slow.result()
        fast = [nginx.ask("GET", "/auth/me", **bearer).status for _ in range(5)]
        passed = not slow.done()
        holder.rollback()

        assert (fast, passed) == ([200] * 5, True)
        assert slow.result().status == 200


def test_metrics_are_for_allowed_addresses(nginx):
    inside, outside = (nginx.ask("GET", "/metrics", address=f"127.0.0.{n}") for n in (1, 2))
    unknown = nginx.ask("GET", "/nobody-knows")

    assert inside.status == 401  # without METRICS_TOKEN
    assert (outside.status, outside.body) == (404, unknown.body)


def test_maintenance_answers_503_until_its_file_is_removed(nginx):
    switch = nginx.folder / "maintenance"
    switch.touch()
    api = nginx.ask("GET", "/health")
    page = nginx.ask("GET", "/login", Accept="text/html,*/*;q=0.8", Accept_Language="de-AT")
    switch.unlink()

    assert (api.status, api.json()) == (503, {"error": "service unavailable"})
    assert page.status == 503
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "nicht verfügbar" in page.body.decode()
    assert {answer.headers["Retry-After"] for answer in (api, page)} == {"5"}
    assert nginx.ask("GET", "/health").status == 200


MAKE_COMPANY = """
from accounts.models import Account, User
from django.test import Client
company = Account.objects.create(name="Engines")
User.objects.bulk_create(
    User(email=f"u{n}@example.org", account=company, password="!") for n in range(2000)
)
browser = Client()
browser.force_login(User.objects.get(email="ada@example.com"))
user = User.objects.get(email="u0@example.org")
print(company.pk, user.pk, browser.cookies["sessionid"].value)
"""


def test_erasing_answers_in_time(site):
    """nginx waits for 4 s: a user with 20,000 events, and a company of 2,000 users."""
    nginx, service = site.nginx, site.service
    company, user, session = service.manage("shell", "--no-imports", "-c", MAKE_COMPANY).split()
    token = "x" * 32
    service.query(FILL, 60_000, "u0@example.org")  # a third are the user's own
    cookies = {"Cookie": f"sessionid={session}; csrftoken={token}", "X-CSRFToken": token}
    headers = cookies | {"Content-Type": FORM, "Referer": f"https://{HOST}/"}
    for page, typed in ((f"user/{user}", "u0@example.org"), (f"account/{company}", "Engines")):
        form = urlencode({"_do": "erase", "confirmed": typed}).encode()
        answer = nginx.ask("POST", f"/admin/accounts/{page}/change/", form, **headers)
        assert (answer.status, answer.headers["Location"]) == (302, "/admin/")

    assert service.query("SELECT count(*) FROM accounts_user WHERE is_active") == [(1,)]
    service.manage("runworker", "--once")
    assert service.query("SELECT count(*) FROM accounts_user") == [(1,)]
    left = "SELECT count(*) FROM audit_record WHERE actor_email LIKE 'u%%@example.org'"
    assert service.query(left + " AND subject_id = %s", user) == [(0,)]


def test_certificate_authority_finds_its_answer(nginx):
    challenges = nginx.folder / "www/.well-known/acme-challenge"
    challenges.mkdir(parents=True)
    (challenges / "known").write_text("known.thumbprint")
    url, path = f"http://127.0.0.1:{nginx.http_port}", "/.well-known/acme-challenge"

    known, unknown = (ask(url, "GET", f"{path}/{name}") for name in ("known", "unknown"))

    assert (known.status, known.body) == (200, b"known.thumbprint")
    assert unknown.status == 308
    assert nginx.ask("GET", f"{path}/unknown").json() == nginx.ask("GET", "/unknown").json()
