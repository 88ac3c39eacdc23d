"""A release reaches one host after the other, its migration before all of them; until the last one
has it, the release before runs beside it."""

import email
import email.policy
import itertools
import re
import threading
import time
import uuid
from collections import Counter

import pytest

from tests.cast import PASSWORD
from tests.hosts.conftest import OPERATOR, Balancer
from tests.releases.code import HERE, UPGRADABLE, unpack
from tests.servers import wait_until

pytestmark = pytest.mark.hosts

# Each call comes from another address, below every limit.
CLIENTS = (f"198.18.{a}.{b}" for a in itertools.count() for b in range(1, 255))
# As the next migration may: the release before knows neither column nor table.
MIGRATION = """
SET lock_timeout = '5s';
ALTER TABLE accounts_user ADD COLUMN IF NOT EXISTS nickname varchar(50) NOT NULL DEFAULT '';
ALTER TABLE invitations_invitation ADD COLUMN IF NOT EXISTS reminded_at timestamptz;
CREATE TABLE IF NOT EXISTS accounts_badge (
    id bigint PRIMARY KEY, user_id uuid REFERENCES accounts_user
);
"""


@pytest.fixture(params=UPGRADABLE)
def before(hosts, tmp_path, request):
    """The hosts on a release from which this one is reached, over this one's schema."""
    code = unpack(request.param, tmp_path / "code")
    for host in hosts:
        host.code = code
        host.restart()
    yield
    for host in hosts:
        upgrade(host)


def upgrade(host):
    host.code = HERE
    host.restart()


class Caller(threading.Thread):
    """A user at one host after the other: refreshes, asks who it is, and invites."""

    def __init__(self, balancer):
        super().__init__()
        self.balancer = balancer
        login = balancer.ask(next(CLIENTS), "POST", "/auth/login", OPERATOR)
        self.refresh_token = login.json()["refresh_token"]
        self.answers = Counter()
        self.stopping = threading.Event()

    def ask(self, path, body=None, **headers):
        method = "POST" if body else "GET"
        answer = self.balancer.ask(next(CLIENTS), method, path, body, **headers)
        self.answers[path, answer.status] += 1
        return answer

    def run(self):
        while not self.stopping.is_set():
            pair = self.ask("/auth/refresh", {"refresh_token": self.refresh_token})
            if pair.status != 200:
                continue
            self.refresh_token = pair.json()["refresh_token"]
            bearer = {"Authorization": f"Bearer {pair.json()['access_token']}"}
            self.ask("/auth/me", **bearer)
            self.ask("/invitations", {"email": f"{uuid.uuid4().hex}@example.com"}, **bearer)
            time.sleep(0.05)


def test_rolling_upgrade_fails_no_request(before, hosts, balancer, database):
    callers = [Caller(balancer) for _ in range(3)]
    for caller in callers:
        caller.start()
    time.sleep(1)
    try:
        database.execute(MIGRATION)
        for host in hosts:
            balancer.hosts = [other for other in hosts if other is not host]
            time.sleep(1)  # what is under way there ends
            upgrade(host)
            balancer.hosts = list(hosts)
            time.sleep(2)
    finally:
        for caller in callers:
            caller.stopping.set()
            caller.join()

    answers = sum((caller.answers for caller in callers), Counter())
    expected = {("/auth/refresh", 200), ("/auth/me", 200), ("/invitations", 201)}
    assert set(answers) == expected
    assert min(answers.values()) > 30


def invite(host):
    """The address that a host has invited."""
    address = f"{uuid.uuid4().hex}@example.com"
    bearer = {"Authorization": f"Bearer {Balancer([host]).log_in(next(CLIENTS))}"}
    body = {"email": address}
    assert host.ask(next(CLIENTS), "POST", "/invitations", body, **bearer).status == 201
    return address


def mailed_token(hosts, address):
    """The token in the mail to an address, by whichever host's worker."""

    def mails():
        for host in hosts:
            for path in host.folder.glob("mails/*"):
                yield from path.read_text().split("-" * 79)

    def found():
        return next((mail for mail in mails() if f"To: {address}" in mail), None)

    mail = email.message_from_string(wait_until(found, 20).strip(), policy=email.policy.default)
    return re.search(r"#token=(\S+)", mail.get_body(("plain",)).get_content())[1]


def test_two_releases_side_by_side_take_what_the_other_gives(before, hosts):
    """Tokens and mailed links, in both directions."""
    old, new = hosts[0], hosts[1]
    upgrade(new)
    for giver, taker in ((old, new), (new, old)):
        address = invite(giver)
        token = mailed_token(hosts, address)
        login = {"email": address, "password": PASSWORD}
        body = {"token": token, "first_name": "A", "last_name": "B", "password": PASSWORD}

        assert taker.ask(next(CLIENTS), "POST", "/invitations/accept", body).status == 200
        pair = giver.ask(next(CLIENTS), "POST", "/auth/login", login).json()
        body = {"refresh_token": pair["refresh_token"]}
        assert taker.ask(next(CLIENTS), "POST", "/auth/refresh", body).status == 200
        assert taker.status(pair["access_token"]) == 200
