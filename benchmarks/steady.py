"""`make bench OPTIONS=--steady`: the shape that others publish. 50 clients sign in for 120 s, each
again and again, by a server that is pinned to two cores where there are four."""

import os
import statistics
from typing import Any

from benchmarks import calls, servers
from benchmarks.storm import begin, end

CLIENTS, SECONDS = 50, 120


def measure(seconds: int = SECONDS) -> list[dict[str, Any]]:
    login = next(call for call in calls.cast() if call.name == "POST /auth/login")
    server = servers.gunicorn("service")
    cores = os.cpu_count() or 1
    try:
        if cores >= 4:
            for process in server.tree():
                process.cpu_affinity([0, 1])
        end(begin(server.port, login, CLIENTS, 2 * CLIENTS))  # warms it up
        outcome = end(begin(server.port, login, CLIENTS, 10**9, seconds=seconds))
    finally:
        server.stop()
    percentiles = statistics.quantiles(outcome["latencies"], n=100)
    done = len(outcome["latencies"]) - len(outcome["wrong"])
    return [
        {
            "clients": CLIENTS,
            "seconds": seconds,
            "cores": f"2 of {cores}" if cores >= 4 else f"{cores}, shared with all others",
            "log-ins/s": round(done / outcome["seconds"], 1),
            "p50_ms": round(percentiles[49] * 1000),
            "p95_ms": round(percentiles[94] * 1000),
            "p99_ms": round(percentiles[98] * 1000),
            "failures": len(outcome["wrong"]),
        }
    ]
