"""`make bench OPTIONS=--silent`: what others wait beside connections that say nothing, or half."""

import socket
import threading
from typing import Any

from benchmarks import calls, servers
from benchmarks.storm import begin, end, milliseconds

HALF = b"POST /auth/me HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
CASTS = {"nobody": [], "64 silent": [b""] * 64, "64 silent, 16 half-sent": [b""] * 64 + [HALF] * 16}


def keep_connected(port: int, sent: bytes, ended: threading.Event) -> None:
    """One connection, and a new one as often as the service closes it."""
    while not ended.is_set():
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(sent)
            client.settimeout(0.5)
            while not ended.is_set():
                try:
                    if client.recv(1024) == b"":
                        break
                except TimeoutError:
                    continue
                except ConnectionError:
                    break


def measure(requests: int = 6000) -> list[dict[str, Any]]:
    """One client asks for `GET /health`, one request after the other."""
    rows: list[dict[str, Any]] = []
    health = next(call for call in calls.cast() if call.name == "GET /health")
    server = servers.gunicorn("service")
    try:
        end(begin(server.port, health, 1, 200))
        for name, cast in CASTS.items():
            ended = threading.Event()
            threads = [
                threading.Thread(target=keep_connected, args=[server.port, sent, ended])
                for sent in cast
            ]
            for thread in threads:
                thread.start()
            found = end(begin(server.port, health, 1, requests))
            ended.set()
            for thread in threads:
                thread.join()
            half, p99 = milliseconds(found["latencies"])
            slowest = round(max(found["latencies"]) * 1000, 1)
            row = {"beside": name, "p50_ms": half, "p99_ms": p99, "slowest_ms": slowest}
            rows.append(row | {"wrong": len(found["wrong"]), "seconds": round(found["seconds"], 1)})
    finally:
        server.stop()
    return rows
