"""Whether the time between two mails tells that others were sent in between, so whether an address
that these were requested for is registered.

.venv/bin/python -m benchmarks.order 60

Each trial requests a mail for an own address, five for another address and one for an own address,
and takes the time between the two own mails, by a mail server that needs 30 ms for each. So many
trials with a registered address, as many with a free one, in a random order; sign-ups and password
links; without and with REQUEST_SPREAD. AUC is the chance that the time is longer in a trial with
five mails in between: 0.5 tells nothing. `right` is the share of trials that the best bound for the
time tells right, found afterwards: of 120 trials that tell nothing, still 0.55 to 0.6.
"""

import asyncio
import logging
import os
import random
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any

from benchmarks import calls, servers
from benchmarks.oracle import auc
from tests import servers as stores


def mail_server() -> Any:
    """A mail server that notes when it was given the mail for each address."""
    from tests.mail.conftest import MailServer

    class TimedServer(MailServer):
        def __init__(self) -> None:
            super().__init__()
            self.times: dict[str, float] = {}

        async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
            self.times[envelope.rcpt_tos[0]] = time.monotonic()
            await asyncio.sleep(0.03)
            return "250 OK"

    return TimedServer()


def trial(server: Any, kind: Any, name: str, *, is_sent: bool) -> float:
    """The seconds between the own mails; five mails are sent in between, or none."""
    from mail.outbox import OutgoingMail
    from passwords.models import PasswordChange

    first, target, last = (f"{name}.{place}@example.com" for place in ("first", "target", "last"))
    registered = [first, last] if kind is PasswordChange else []
    for email in registered + [target] * (is_sent == (kind is PasswordChange)):
        calls.user(email)
    for email in (first, *[target] * 5, last):
        OutgoingMail.objects.request_mail(kind, email, "en")
    while OutgoingMail.objects.still_waiting().exists():
        time.sleep(0.05)
    return float(server.times[last] - server.times[first])


def right(some: list[float], others: list[float]) -> float:
    """The share that the best bound tells right."""
    total = len(some) + len(others)
    return (
        max(
            sum(sign * value >= sign * bound for value in some)
            + sum(sign * value < sign * bound for value in others)
            for bound in some + others
            for sign in (1, -1)
        )
        / total
    )


def main(pairs: int) -> None:
    servers.set_up()
    logging.disable()
    from mail import outbox
    from passwords.models import PasswordChange
    from signin.models import SignupLink

    server = mail_server()
    server.start()
    environment = os.environ | {"EMAIL_URL": f"smtp://127.0.0.1:{server.port}"}
    command = [sys.executable, "manage.py", "runworker"]
    log = (stores.FOLDER / "worker.log").open("ab")
    worker = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        for spread in (timedelta(0), outbox.REQUEST_SPREAD):
            outbox.REQUEST_SPREAD = spread
            for kind in (SignupLink, PasswordChange):
                took: dict[bool, list[float]] = {True: [], False: []}
                for number, is_sent in enumerate(random.sample([True, False] * pairs, 2 * pairs)):
                    name = f"{kind.__name__.lower()}{spread.seconds}.{number}"
                    took[is_sent].append(trial(server, kind, name, is_sent=is_sent))
                distances = {key: [abs(value) for value in took[key]] for key in took}
                for what, found in (("time", took), ("distance", distances)):
                    figures = f"AUC {auc(found[True], found[False]):.3f}"
                    figures += f", right {right(found[True], found[False]):.3f}"
                    print(f"{spread.seconds} s, {kind.__name__}, {what}: {figures}", flush=True)
    finally:
        worker.terminate()
        worker.wait()
        server.stop()
        log.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
