"""`make bench OPTIONS=--storm`: what everybody else waits while a crowd logs in."""

import json
import statistics
import subprocess
import sys
import time
from typing import Any

from benchmarks import calls, servers

CROWD = 200  # clients that log in, one log-in after the other
PROBES = ("GET /auth/me", "GET /health")


def begin(
    port: int, call: calls.Call, connections: int, count: int, **more: int
) -> "subprocess.Popen[bytes]":
    """A load in a process of its own; `end` gives what it found."""
    plan = {"port": port, "connections": connections, "count": count, "status": call.status} | more
    requests = list(call.renew(count)) if call.renew else call.requests
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write(json.dumps(plan | {"requests": requests}).encode())
    process.stdin.close()
    return process


def end(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    assert process.stdout
    found: dict[str, Any] = json.loads(process.stdout.read())
    process.wait()
    return found


def milliseconds(latencies: list[float]) -> tuple[float, float]:
    """The median and the 99th percentile."""
    percentiles = statistics.quantiles(latencies, n=100)
    return round(percentiles[49] * 1000, 1), round(percentiles[98] * 1000, 1)


def probe(port: int, call: calls.Call, crowd: "subprocess.Popen[bytes]") -> list[float]:
    """Latencies of one client that asks for as long as the crowd is there."""
    latencies: list[float] = []
    while crowd.poll() is None:
        latencies += end(begin(port, call, 1, 100))["latencies"]
    return latencies


def row(name: str, quiet: Any, stormy: Any, crowd: dict[str, Any]) -> dict[str, Any]:
    refused = sum(wrong.startswith("503") for wrong in crowd["wrong"])
    unanswered = crowd["wrong"].count("no answer")
    done = len(crowd["latencies"]) - (len(crowd["wrong"]) - unanswered)
    return {
        "probe": name,
        "quiet_p50_ms": quiet[0],
        "p50_ms": stormy[0],
        "p99_ms": stormy[1],
        "p99 / quiet p50": round(stormy[1] / quiet[0], 1) if quiet[0] else "",
        "log-ins/s": round(done / crowd["seconds"], 1),
        "503": refused,
        "other errors": len(crowd["wrong"]) - refused,
        "slowest log-in s": round(max(crowd["latencies"]), 1),
    }


def measure(log_ins: int = 1000) -> list[dict[str, Any]]:
    """A storm that nobody else is in, and one for each probe with the probe's quiet figures."""
    rows: list[dict[str, Any]] = []
    by_name = {call.name: call for call in calls.cast()}
    login = by_name["POST /auth/login"]
    server = servers.gunicorn("service")
    try:
        end(begin(server.port, login, 16, 60))
        rows.append(row("none", ("", ""), ("", ""), end(begin(server.port, login, CROWD, log_ins))))
        for name in PROBES:
            end(begin(server.port, by_name[name], 1, 50))
            quiet = milliseconds(end(begin(server.port, by_name[name], 1, 500))["latencies"])
            crowd = begin(server.port, login, CROWD, log_ins)
            time.sleep(1)
            stormy = milliseconds(probe(server.port, by_name[name], crowd))
            rows.append(row(name, quiet, stormy, end(crowd)))
    finally:
        server.stop()
    return rows
