"""What all hosts count, lock and send, they count, lock and send together."""

import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.hosts.conftest import OPERATOR, Balancer
from tests.servers import wait_until

pytestmark = pytest.mark.hosts


def statuses(call, times):
    """The answers to so many calls, twelve at a time; each is given its number."""
    with ThreadPoolExecutor(12) as threads:
        return Counter(threads.map(call, range(times)))


def test_limits_are_exact_over_all_hosts(balancer):
    def look(number):
        return balancer.ask("192.0.2.7", "GET", "/.well-known/jwks.json").status

    def refresh(number):
        body = {"refresh_token": "none of ours"}
        return balancer.ask("192.0.2.7", "POST", "/auth/refresh", body).status

    assert statuses(look, 160) == {200: 100, 429: 60}
    assert statuses(refresh, 30) == {401: 12, 429: 18}


def test_guesses_at_all_hosts_lock_the_address_once(balancer):
    def guess(number):
        body = {"email": "guessed@example.com", "password": f"guess {number}"}
        return balancer.ask(f"198.51.100.{number}", "POST", "/auth/login", body).status

    answers = statuses(guess, 12)
    assert answers[401] == 5
    assert answers[429] + answers[503] == 7  # 503: the queue of hashes is full
    assert [guess(number) for number in (20, 21, 22)] == [429] * 3


def test_each_mail_is_sent_by_one_host(balancer, hosts):
    bearer = {"Authorization": f"Bearer {balancer.log_in()}"}
    invited = [f"invited{number}@example.com" for number in range(36)]

    def invite(number):
        body = {"email": invited[number]}
        return balancer.ask("192.0.2.1", "POST", "/invitations", body, **bearer).status

    def sent():
        files = itertools.chain(*(host.folder.glob("mails/*.log") for host in hosts))
        lines = itertools.chain(*(path.read_text().splitlines() for path in files))
        return sorted(line[4:] for line in lines if line.startswith("To: invited"))

    assert statuses(invite, 36) == {201: 36}
    wait_until(lambda: len(sent()) >= 36, 20)
    for host in hosts:
        host.manage("runworker", "--once")
    assert sent() == sorted(invited)


def test_log_in_here_is_known_there(hosts):
    tokens = [Balancer([host]).log_in() for host in hosts]

    everywhere = Balancer(hosts)
    for token in tokens * 3:
        answer = everywhere.ask("192.0.2.1", "GET", "/auth/me", Authorization=f"Bearer {token}")
        assert (answer.status, answer.json()["email"]) == (200, OPERATOR["email"])
