"""Loads a server of this machine over HTTP, from a process whose CPU is nobody's to count.

Read from standard input: `{"port", "connections", "count", "status", "requests"}`, each request
`[method, path, headers, body]`, taken in turn; with `seconds`, no request begins later. Written to
standard output: `{"seconds", "latencies", "wrong"}`, latencies in seconds, `wrong` the answers of
another status.
"""

import http.client
import itertools
import json
import sys
import threading
import time
from typing import Any


class Load:
    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        self.turns = iter(range(plan["count"]))
        self.requests = itertools.cycle(plan["requests"])
        self.end = time.monotonic() + plan.get("seconds", 86_400)
        self.lock = threading.Lock()
        self.latencies: list[float] = []
        self.wrong: list[str] = []

    def work(self) -> None:
        """One kept connection, one request after the other, until all are made."""
        connection = http.client.HTTPConnection("127.0.0.1", self.plan["port"], timeout=60)
        while True:
            with self.lock:
                if time.monotonic() > self.end or next(self.turns, None) is None:
                    return connection.close()
                method, path, headers, body = next(self.requests)
            begun = time.perf_counter()
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            answer = response.read()
            self.latencies.append(time.perf_counter() - begun)
            if response.status == 503:  # as a client should
                time.sleep(int(response.getheader("Retry-After", "0")))
            if response.status != self.plan["status"]:
                self.wrong.append(f"{response.status} {answer[:200].decode()}")

    def run(self) -> dict[str, Any]:
        threads = [threading.Thread(target=self.work) for _ in range(self.plan["connections"])]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if "seconds" not in self.plan:
            self.wrong += ["no answer"] * (self.plan["count"] - len(self.latencies))
        seconds = time.perf_counter() - begun
        return {"seconds": seconds, "latencies": self.latencies, "wrong": self.wrong}


if __name__ == "__main__":
    json.dump(Load(json.load(sys.stdin)).run(), sys.stdout)
