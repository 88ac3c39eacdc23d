"""What no code above can go below, timed in this process: milliseconds of CPU, or of waiting."""

import base64
import time
from collections.abc import Callable
from typing import Any


def timed(work: Callable[[], Any], times: int, clock: Callable[[], float]) -> float:
    begun = clock()
    for _ in range(times):
        work()
    return (clock() - begun) * 1000 / times


def least(
    works: dict[str, Callable[[], Any]], times: int, clock: Callable[[], float], rounds: int = 9
) -> dict[str, float]:
    """The best of several interleaved rounds of each work: what disturbs only ever adds."""
    found = {name: float("inf") for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            found[name] = min(found[name], timed(work, times, clock))
    return found


def measure() -> dict[str, float]:
    """CPU of the hash, a signature, a check and the query; waiting time of PING and a decision."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding
    from django.contrib.auth.hashers import check_password, make_password
    from django.db import connection
    from django_redis import get_redis_connection

    from accounts import tokens
    from accounts.models import User
    from keys.cache import signing_keys
    from throttling.limiter import limiter

    encoded = make_password("correct horse battery")
    user = User.objects.get(email="ada@example.com")
    statement = f'SELECT email FROM "accounts_user" WHERE id = {str(user.pk)!r}'
    signing_keys.refresh()
    access = tokens.issue_pair(user)[0]
    payload, backend = access.payload, access.token_backend
    key = signing_keys.signer
    signed, _, signature = backend.encode(payload).rpartition(".")
    proof = (
        base64.urlsafe_b64decode(f"{signature}=="),
        signed.encode(),
        padding.PKCS1v15(),
        hashes.SHA256(),
    )
    redis = get_redis_connection()

    def query() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            cursor.fetchone()

    cpu = least(
        {"hash": lambda: check_password("correct horse battery", encoded)}, 2, time.process_time
    )
    cpu |= least(
        {
            "signature": lambda: backend.encode(payload),
            "check": lambda: key.public.verify(*proof),
            "query": query,
        },
        50,
        time.process_time,
    )
    waits = least(
        {
            "PING": redis.ping,
            "decision": lambda: limiter.count_request(
                "public", "198.51.100.1", 2_000_000_000, strict=True
            ),
        },
        100,
        time.perf_counter,
        40,
    )
    return cpu | waits
