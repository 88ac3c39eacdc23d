"""A new release reaches one host after the other, its migration before all of them."""

import threading
import time
import uuid
from collections import Counter

import pytest

pytestmark = pytest.mark.hosts

# As a migration that only adds would: the old release knows neither column nor table.
MIGRATION = """
SET lock_timeout = '5s';
ALTER TABLE accounts_user ADD COLUMN nickname varchar(50) NOT NULL DEFAULT '';
ALTER TABLE invitations_invitation ADD COLUMN reminded_at timestamptz;
CREATE TABLE accounts_badge (id bigint PRIMARY KEY, user_id uuid REFERENCES accounts_user);
"""


def test_rolling_upgrade_fails_no_request(hosts, balancer, database):
    bearer = {"Authorization": f"Bearer {balancer.log_in()}"}
    answers = Counter()
    upgraded = threading.Event()

    def call():
        while not upgraded.is_set():
            body = {"email": f"{uuid.uuid4().hex}@example.com"}
            for method, path, sent in (("GET", "/auth/me", None), ("POST", "/invitations", body)):
                status = balancer.ask("192.0.2.1", method, path, sent, **bearer).status
                answers[path, status] += 1
            time.sleep(0.05)

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    time.sleep(1)
    try:
        database.execute(MIGRATION)
        for host in hosts:
            balancer.hosts = [other for other in hosts if other is not host]
            time.sleep(1)  # what is under way there ends
            host.restart()
            balancer.hosts = list(hosts)
    finally:
        upgraded.set()
        for caller in callers:
            caller.join()

    assert set(answers) == {("/auth/me", 200), ("/invitations", 201)}
    assert answers["/invitations", 201] > 30
