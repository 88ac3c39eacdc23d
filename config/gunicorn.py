"""gunicorn's settings, read by `gunicorn config.wsgi` through gunicorn.conf.py."""

import functools
import gc
import json
import os
import shutil
import tempfile
from collections import Counter
from socket import socket
from typing import TYPE_CHECKING

from gunicorn import util

from config import settings

if TYPE_CHECKING:
    from gunicorn.arbiter import Arbiter

    from config.worker import Worker

if settings.METRICS_TOKEN:
    # Each process counts in files of its own there, which a scrape adds up. prometheus_client
    # looks for the folder when it is imported, so what imports it is imported in functions here.
    METRICS_DIR = tempfile.mkdtemp(prefix="consulting-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = METRICS_DIR

bind = f"{settings.BIND}:{settings.PORT}"
workers = settings.WEB_CONCURRENCY
worker_class = "config.worker.Worker"
threads = settings.WEB_THREADS
# Keys, settings and URLs are read once, by the master; a bad one ends the start with its one line.
preload_app = True
keepalive = 5
graceful_timeout = 10
timeout = 30
logconfig_dict = settings.LOGGING
# The socket's one path per user would make two services on one machine fight over it.
control_socket_disable = True
# Django decides whom to believe (TRUSTED_PROXY_COUNT); gunicorn believes nobody.
forwarded_allow_ips = ""


def pre_fork(server: "Arbiter", worker: "Worker") -> None:
    """Give a process its number: the one that the fewest of the others have."""
    taken = Counter(other.number for other in server.WORKERS.values())
    worker.number = min(range(workers), key=lambda number: taken[number])


def post_fork(server: "Arbiter", worker: "Worker") -> None:
    """Share several listening sockets out among the processes, as consulting.socket has one for
    each: nginx then gives each process its part of the requests. From a socket that all listen on,
    whoever is quickest takes most of the connections, and kept connections stay with it."""
    worker.sockets = share(worker.sockets, worker.number)


def share(sockets: list[socket], number: int) -> list[socket]:
    """The sockets of the process with that number; each socket is somebody's."""
    own = number % len(sockets)
    return [sock for place, sock in enumerate(sockets) if place % workers == own]


def on_starting(server: "Arbiter") -> None:
    """The log's first line says which version starts."""
    server.log.info("consulting-management %s", settings.VERSION)


def when_ready(server: "Arbiter") -> None:
    """Set aside what was loaded before the workers fork: the garbage collector of each need not
    walk it again and again, nor copy its pages by doing so."""
    gc.collect()
    gc.freeze()


def post_worker_init(worker: "Worker") -> None:
    from throttling.counter import limiter

    limiter.keep_watch()


def child_exit(server: "Arbiter", worker: "Worker") -> None:
    """A process that has ended counts on in the sums, and no longer in what is true now."""
    if settings.METRICS_TOKEN:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid)


def on_exit(server: "Arbiter") -> None:
    if settings.METRICS_TOKEN:
        shutil.rmtree(METRICS_DIR, ignore_errors=True)


def write_error(sock: socket, status: int, reason: str, detail: str) -> None:
    """Answer what is no valid HTTP request, before any application code sees it, as JSON.

    gunicorn's own page is HTML and repeats parts of the request; this names the kind of error.
    """
    body = json.dumps({"error": "internal error" if status == 500 else reason.lower()})
    head = (
        f"HTTP/1.1 {status} {reason}\r\nConnection: close\r\nContent-Type: application/json\r\n"
        f"Cache-Control: no-store\r\nX-Request-ID: {os.urandom(8).hex()}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    util.write_nonblock(sock, (head + body).encode("latin-1"))


# gunicorn offers no setting for either. It closes a connection in the worker's one accepting
# thread, where it waits up to 2 s for the client to close as well: whoever does not would keep
# everybody else out that long.
util.write_error = write_error
util.close_graceful = functools.partial(util.close_graceful, timeout=0.02)
