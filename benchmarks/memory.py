"""What a worker holds after many requests, and what the in-process counter holds at its fullest.

.venv/bin/python -m benchmarks.memory 300000
"""

import sys
import threading
import time
import tracemalloc

from benchmarks import calls, servers
from benchmarks.__main__ import load
from tests import servers as stores

STEP = 25_000


def requests(cast: dict[str, calls.Call], total: int) -> None:
    """Workers' own memory (USS), while many addresses ask for their identity and unknown paths."""
    chosen = [cast["GET /auth/me"], cast["404"]]
    method, path, headers, body = chosen[1].requests[0]
    chosen[1].requests = [
        (method, path, headers | {"X-Forwarded-For": next(calls.addresses)}, body)
        for _ in range(10_000)
    ]
    server = servers.Gunicorn("config.wsgi", stores.FOLDER)
    try:
        for made in range(0, total + 1, STEP):
            megabytes = server.memory() / 2**20 / servers.PROCESSES
            print(f"{made:>9} requests  {megabytes:6.1f} MB a worker", flush=True)
            for call in chosen:
                call.count = STEP // 2
                load(call, server, 16)
    finally:
        server.stop()
    print("wrong answers:", sum(len(call.wrong) for call in chosen))


def addresses(total: int) -> None:
    """The in-process counter after so many addresses in one window."""
    from throttling.limiter import ProcessCounter

    tracemalloc.start()
    counter = ProcessCounter()
    for number in range(total):
        counter.count_request(f"throttle:credential:2001:db8:{number:x}::/64", 60)
    megabytes = tracemalloc.get_traced_memory()[0] / 2**20
    tracemalloc.stop()
    print(f"{total} addresses: {len(counter.windows)} counts, {megabytes:.1f} MB")


def storm(call: calls.Call, attempts: int) -> None:
    """Log-ins all at once: a worker hashes for as many of them as it has threads, no more."""
    call.count = attempts
    server = servers.Gunicorn("config.wsgi", stores.FOLDER)
    peak, done = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.is_set():
            peak = max(peak, server.memory())
            time.sleep(0.01)

    try:
        idle = server.memory()
        watcher = threading.Thread(target=watch)
        watcher.start()
        load(call, server, attempts)
        done.set()
        watcher.join()
    finally:
        server.stop()
    more = (peak - idle) / 2**20 / servers.PROCESSES
    threads = servers.ENVIRONMENT["WEB_THREADS"]
    print(f"{attempts} log-ins at once, {threads} threads: {more:.0f} MB more a worker at the peak")
    print("wrong answers:", len(call.wrong))


if __name__ == "__main__":
    servers.set_up()
    addresses(1_000_000)
    by_name = {call.name: call for call in calls.cast()}
    for attempts in (40, 160):  # four times the callers, and the same peak
        storm(by_name["POST /auth/login"], attempts)
    requests(by_name, int(sys.argv[1]))
