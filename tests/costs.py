"""What a call costs: its statements and its Redis commands."""

import pytest
from django.db import connection
from django_redis import get_redis_connection

from throttling.limiter import limiter

# What clients send, of all that Redis counts: what runs inside the script is left out.
FROM_CLIENTS = ["eval", "evalsha", "script", "ping", "get", "hello", "client", "select", "auth"]


def commands():
    """Redis commands that clients have sent so far."""
    stats = get_redis_connection().info("commandstats")
    return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in FROM_CLIENTS)


@pytest.fixture
def costs():
    """Makes a call and gives its status, its statements and its Redis commands."""
    # Connects, and loads the script.
    limiter.count_request("public", "198.51.100.1", 10, strict=True)

    def measure(call):
        statements = []

        def note(execute, sql, *args):
            statements.append(sql)
            return execute(sql, *args)

        before = commands()
        with connection.execute_wrapper(note):
            answer = call()
        return answer.status_code, len(statements), commands() - before

    return measure
