"""`make bench OPTIONS=--scale`: what one to four hosts of one to four processes serve, over one
PostgreSQL and one Redis, and what a call costs each of the three."""

import contextlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import calls, servers
from benchmarks.spread import figures, wrk
from benchmarks.storm import begin, end
from tests import servers as stores

HOSTS = [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1)]  # hosts, and processes of each
CLIENTS = 8  # of each process
LOG_INS = 60  # likewise


@contextlib.contextmanager
def running(hosts: int, processes: int) -> Iterator[list[servers.Gunicorn]]:
    """So many gunicorns."""
    folder = Path(tempfile.mkdtemp(prefix="consulting-scale-"))
    started: list[servers.Gunicorn] = []
    try:
        for _ in range(hosts):
            own = {"WEB_CONCURRENCY": str(processes)}
            started.append(servers.Gunicorn("config.wsgi", folder, **own))
        yield started
    finally:
        for server in started:
            server.stop()
        shutil.rmtree(folder)


def spent(hosts: list[servers.Gunicorn]) -> dict[str, float]:
    """By whom, seconds of CPU so far."""
    return {
        "service": sum(host.cpu() for host in hosts),
        "postgres": servers.cpu_seconds(stores.POSTGRES.process.pid),
        "redis": servers.cpu_seconds(stores.REDIS.process.pid),
    }


def ask(hosts: list[servers.Gunicorn], token: str, clients: int, seconds: int) -> dict[str, float]:
    """`GET /auth/me`, the clients shared out among the hosts."""
    urls = [f"http://127.0.0.1:{host.port}/auth/me" for host in hosts]
    return figures([wrk(url, clients // len(urls), seconds, token, "127.0.0.1") for url in urls])


def log_in(hosts: list[servers.Gunicorn], login: calls.Call, processes: int) -> float:
    """Log-ins a second of all hosts together."""
    start = time.perf_counter()
    crowds = [begin(host.port, login, CLIENTS * processes, LOG_INS * processes) for host in hosts]
    wrong = [answer for crowd in crowds for answer in end(crowd)["wrong"]]
    done = LOG_INS * processes * len(hosts) - len(wrong)
    return done / (time.perf_counter() - start)


def measure(seconds: int = 6) -> list[dict[str, Any]]:
    by_name = {call.name: call for call in calls.cast()}
    token = by_name["GET /auth/me"].requests[0][2]["Authorization"]
    rows = []
    for number, processes in HOSTS:
        clients = CLIENTS * number * processes
        with running(number, processes) as hosts:
            ask(hosts, token, clients, 1)  # connects and loads
            before = spent(hosts)
            found = ask(hosts, token, clients, seconds)
            total = found["per_second"] * seconds / 1000
            cost = {f"{who}_ms": (now - before[who]) / total for who, now in spent(hosts).items()}
            log_ins = log_in(hosts, by_name["POST /auth/login"], processes)
        figures_of_row = found | cost | {"log-ins/s": log_ins}
        rows.append(
            {"hosts": number, "processes": processes}
            | {name: round(value, 2) for name, value in figures_of_row.items()}
        )
    return rows
