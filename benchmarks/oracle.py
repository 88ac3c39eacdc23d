"""Whether the time of a wrong password tells a registered address from a free one, or who has a
second factor from who has none.

.venv/bin/python -m benchmarks.oracle 400

Guesses at addresses with and without a user, in a random order, one at a time, each by a caller of
its own, with DEVICE_LOCKOUT off and on. AUC is the chance that a guess at a registered address
took longer: 0.5 tells nothing.
Then guesses at people with and without a second factor.
"""

import logging
import random
import secrets
import sys
import time
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

from benchmarks import calls, servers
from tests import servers as stores
from tests.requests import send


def auc(known: list[float], unknown: list[float]) -> float:
    """The area under the ROC curve (the Mann-Whitney statistic over all pairs)."""
    wins = sum((a > b) + (a == b) / 2 for a in known for b in unknown)
    return wins / (len(known) * len(unknown))


def guess(client: HTTPConnection, email: str) -> float:
    """How long a wrong password takes. A busy machine's store has hiccups, in which a caller that
    has had a request already is refused."""
    body, caller = {"email": email, "password": "a wrong guess"}, next(calls.addresses)
    started = time.perf_counter()
    answer = send(client, "POST", "/auth/login", body, X_Forwarded_For=caller)
    assert answer.status == 401, answer.status
    return time.perf_counter() - started


def measure(lockout: str, people: list[str], strangers: list[str]) -> float:
    server = servers.Gunicorn("config.wsgi", stores.FOLDER, DEVICE_LOCKOUT=lockout)
    try:
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=30)) as client:
            guess(client, "warm-up@example.com")
            # In a random order: what comes second in a pair must not be told by that.
            order = random.sample(people + strangers, 2 * len(people))
            took = {email: guess(client, email) for email in order}
    finally:
        server.stop()
    return auc([took[email] for email in people], [took[email] for email in strangers])


def guard(user: Any) -> None:
    """Give somebody an app and recovery codes."""
    from django.db import transaction

    from signin.factors.models import Factors

    with transaction.atomic():
        factors, _ = Factors.objects.lock_or_create(user)
        factors.add_totp(secrets.token_bytes(20), 0, "")


def main(count: int) -> None:
    servers.set_up()
    logging.disable()
    for lockout in ("false", "true"):
        people = [f"known{n}.{lockout}@example.com" for n in range(count)]
        for email in people:
            calls.user(email)
        strangers = [f"unknown{n}.{lockout}@example.com" for n in range(count)]
        # The fifth guess at an address is the one that locks, and asks for a mail.
        print(
            f"DEVICE_LOCKOUT={lockout}: AUC {measure(lockout, people, strangers):.3f}", flush=True
        )
    plain, guarded = ([f"{kind}{n}@example.com" for n in range(count)] for kind in ("p", "g"))
    for email in plain:
        calls.user(email)
    for email in guarded:
        guard(calls.user(email))
    print(f"second factor: AUC {measure('false', guarded, plain):.3f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
