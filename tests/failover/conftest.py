"""Clients that write all the time, while servers die and others take over."""

import contextlib
import threading
import time
import uuid

from tests.config.helpers import UNLIMITED
from tests.requests import ask
from tests.services import Service

GENEROUS = UNLIMITED | {"INVITATIONS_PER_DAY": "1000000"}


class Writers:
    """Six clients of a service that invite somebody new again and again.

    `answers` are (time, status, seconds it took), `invited` the ids that were answered 201. An
    invitation and its mail are written in one transaction.
    """

    def __init__(self, service):
        self.service = service
        self.bearer = service.bearer()
        self.answers = []
        self.invited = []
        self.ended = threading.Event()

    def write(self):
        """One invitation; the status of its answer."""
        begin = time.monotonic()
        body = {"email": f"{uuid.uuid4().hex}@example.com"}
        answer = ask(self.service.url, "POST", "/invitations", body, **self.bearer)
        now = time.monotonic()
        self.answers.append((now, answer.status, now - begin))
        if answer.status == 201:
            self.invited.append(answer.json()["id"])
        return answer.status

    def write_on(self):
        while not self.ended.is_set():
            self.write()
            time.sleep(0.02)

    @contextlib.contextmanager
    def at_work(self):
        self.ended.clear()
        self.answers.clear()
        threads = [threading.Thread(target=self.write_on) for _ in range(6)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.ended.set()
            for thread in threads:
                thread.join()

    def wait_for_success(self, since, seconds):
        """Return as soon as a request that began after `since` has succeeded."""
        while not any(status == 201 and at - took > since for at, status, took in self.answers):
            assert time.monotonic() < since + seconds, "nothing was written in time"
            time.sleep(0.02)

    def statuses(self):
        return {status for _, status, _ in self.answers}

    def longest_wait(self):
        return max(took for _, _, took in self.answers)


def writers_of(folder, database_url):
    """A service on an empty database, with an operator, and clients of it. Stop its `service`."""
    service = Service(folder, DATABASE_URL=database_url, **GENEROUS)
    service.manage("migrate", "-v0")
    return Writers(service.add_operator().start())
