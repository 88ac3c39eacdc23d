"""Keys rotate without a failed request, on all hosts by one command."""

import itertools
import threading
import time

import jwt
import pytest

from tests.cast import PASSWORD
from tests.config.helpers import UNLIMITED
from tests.requests import ask
from tests.servers import wait_until

ADA = {"email": "ada@example.com", "password": PASSWORD}
LIVES = {"ACCESS_TOKEN_SECONDS": "3", "REFRESH_TOKEN_SECONDS": "3", "JWT_LEEWAY_SECONDS": "0"}


@pytest.fixture
def hosts(new_service):
    """Two, which share a database and nothing else; both have two processes, and tokens of three
    seconds."""
    settings = {"WEB_CONCURRENCY": "2"} | UNLIMITED | LIVES
    one = new_service(**settings).add_operator()
    two = new_service(**settings, DATABASE_URL=one.environment["DATABASE_URL"])
    return one.start(), two.start()


def log_in(host):
    return ask(host.url, "POST", "/auth/login", ADA).json()


class Caller(threading.Thread):
    """Refreshes and asks who it is at one host after the other, again and again; verifies each
    token by JWKS alone, which it fetches again when its copy is a second old."""

    def __init__(self, hosts):
        super().__init__()
        self.urls = itertools.cycle(host.url for host in hosts)
        self.token = log_in(hosts[0])["refresh_token"]
        self.kids = set()
        self.problems = []
        self.stopping = threading.Event()
        self.fetched_at = 0.0

    def jwks(self):
        if time.monotonic() - self.fetched_at > 1:
            answer = ask(next(self.urls), "GET", "/.well-known/jwks.json")
            self.known = {key.key_id: key for key in jwt.PyJWKSet.from_dict(answer.json()).keys}
            self.fetched_at = time.monotonic()
        return self.known

    def run(self):
        while not self.stopping.wait(0.02):
            try:
                self.call()
            except Exception as error:
                self.problems.append(error)

    def call(self):
        answer = ask(next(self.urls), "POST", "/auth/refresh", {"refresh_token": self.token})
        assert answer.status == 200, answer.body
        self.token, access = answer.json()["refresh_token"], answer.json()["access_token"]
        kid = jwt.get_unverified_header(access)["kid"]
        jwt.decode(access, self.jwks()[kid], ["RS256"], options={"verify_iat": False})
        self.kids.add(kid)
        for _ in range(2):
            me = ask(next(self.urls), "GET", "/auth/me", authorization=f"Bearer {access}")
            assert me.status == 200, me.body


def kids(host):
    return {key["kid"] for key in ask(host.url, "GET", "/.well-known/jwks.json").json()["keys"]}


def test_rotation_under_load_fails_no_request(hosts):
    one, two = hosts
    callers = [Caller(order) for order in (hosts, hosts[::-1])]
    for caller in callers:
        caller.start()
    [old] = kids(one)
    one.manage("rotatekey", "--now")
    wait_until(lambda: all(len(caller.kids) == 2 for caller in callers))
    wait_until(lambda: two.manage("prune") and all(old not in kids(it) for it in hosts * 4), 60)
    for caller in callers:
        caller.stopping.set()
        caller.join()

    assert [problem for caller in callers for problem in caller.problems] == []


def test_start_ends_with_one_line_where_the_secret_is_another(new_service):
    first = new_service()
    first.manage("rotatekey")
    service = new_service(
        DATABASE_URL=first.environment["DATABASE_URL"],
        SECRET_KEY="not the one that has encrypted the key",
    )
    server = service.spawn("-m", "gunicorn", "config.wsgi")

    assert server.wait(60) != 0
    assert service.log.count("SECRET_KEY decrypts no signing key") == 1
    assert "Traceback" not in service.log


def test_leaked_secret_is_replaced_with_one_restart(new_service):
    """As the incident's page says: the new key first, then the restart."""
    service = new_service().add_operator().start()
    before = {"refresh_token": log_in(service)["refresh_token"]}
    service.environment["SECRET_KEY"] = "the secret that follows the one that leaked"
    service.manage("rotatekey", "--now")
    meanwhile = ask(service.url, "POST", "/auth/refresh", before)
    service.stop()
    service.start()

    assert meanwhile.status == 200
    assert ask(service.url, "POST", "/auth/refresh", before).status == 200
    assert "access_token" in log_in(service)
    assert "unreadable" in service.manage("listkeys")
