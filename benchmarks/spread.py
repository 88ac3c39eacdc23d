"""`make bench OPTIONS=--spread`: whether the processes share the work, directly and behind the
nginx of deploy/, by wrk; `GET /auth/me` over kept connections."""

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks import calls

CLIENTS = (16, 64)
UNITS = {"us": 0.001, "ms": 1, "s": 1000}


def wrk(
    url: str, clients: int, seconds: int, token: str, host: str = "api.example.com"
) -> "subprocess.Popen[str]":
    headers = [f"Authorization: {token}", f"Host: {host}"]
    return subprocess.Popen(
        ["wrk", "-t1", f"-c{clients}", f"-d{seconds}", "--timeout=20", "--latency"]
        + [word for header in headers for word in ("-H", header)]
        + [url],
        stdout=subprocess.PIPE,
        text=True,
    )


def figures(running: "list[subprocess.Popen[str]]") -> dict[str, float]:
    """Requests a second of all of them together; of the latencies the worst one's."""
    rates, halves, worst = [], [], []
    for one in running:
        text = one.communicate()[0]
        if "Non-2xx" in text or "Socket errors" in text:
            print(text, file=sys.stderr)
        rates.append(float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]))
        for percent, found in (("50%", halves), ("99%", worst)):
            value, unit = re.search(rf"{percent}\s+([\d.]+)(us|ms|s)", text).groups()
            found.append(float(value) * UNITS[unit])
    return {"per_second": sum(rates), "p50_ms": max(halves), "p99_ms": max(worst)}


def counts(folder: Path) -> Counter[str]:
    """What each process has answered so far, by its id."""
    return Counter({path.name: path.stat().st_size for path in folder.iterdir()})


def measure(tries: int = 5, seconds: int = 6) -> list[dict[str, Any]]:
    """Each way in, in turn, as often as `tries` says."""
    from django.conf import settings

    from tests.deploy.conftest import Nginx, Sockets
    from tests.services import Service

    me = next(call for call in calls.cast() if call.name == "GET /auth/me")
    token = me.requests[0][2]["Authorization"]
    folder = Path(tempfile.mkdtemp(prefix="consulting-spread-"))
    (folder / "counts").mkdir()
    sockets = Sockets(folder)
    service = Service(
        folder,
        ALLOWED_HOSTS="api.example.com,127.0.0.1",
        COUNTS=f"{folder}/counts",
        SECRET_KEY=settings.SECRET_KEY,  # which encrypts the signing keys
    )
    service.url = f"http://127.0.0.1:{sockets.port}"
    nginx = Nginx(folder, sockets.path) if shutil.which("nginx") else None
    ways = {"directly": [f"http://127.0.0.1:{sockets.port}/auth/me"]}
    if nginx:
        ways["through nginx"] = [f"https://127.0.0.1:{nginx.start().port}/auth/me"]
    rows = []
    try:
        sockets.serve(service, "benchmarks.counted")
        for number in range(tries + 1):
            for way, urls in ways.items():
                for clients in CLIENTS:
                    before = counts(folder / "counts")
                    running = [wrk(url, clients // len(urls), seconds, token) for url in urls]
                    found = figures(running)
                    served = [*(counts(folder / "counts") - before).values()]
                    if number:  # the first one warmed it up
                        rows.append(
                            {"way": way, "clients": clients, "try": number}
                            | {name: round(value, 1) for name, value in found.items()}
                            | {
                                "p99 / p50": round(found["p99_ms"] / found["p50_ms"], 1),
                                "served": " / ".join(map(str, served)),
                                "most_percent": round(100 * max(served) / sum(served)),
                            }
                        )
    finally:
        service.stop()
        sockets.close()
        if nginx:
            nginx.stop()
        shutil.rmtree(folder)
    return rows
