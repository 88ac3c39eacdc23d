"""gunicorn's settings, read by `gunicorn config.wsgi` through gunicorn.conf.py."""

import functools
import gc
import json
from typing import Any

from gunicorn import util

from config import settings
from config.logs import new_request_id
from throttling import counter

bind = f"127.0.0.1:{settings.PORT}"
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


def when_ready(server: Any) -> None:
    """Set aside what was loaded before the workers fork: the garbage collector of each need not
    walk it again and again, nor copy its pages by doing so."""
    gc.collect()
    gc.freeze()


def post_worker_init(worker: Any) -> None:
    counter.keep_watch()


def write_error(sock: Any, status: int, reason: str, detail: str) -> None:
    """Answer what is no valid HTTP request, before any application code sees it, as JSON.

    gunicorn's own page is HTML and repeats parts of the request; this names the kind of error.
    """
    body = json.dumps({"error": "internal error" if status == 500 else reason.lower()})
    head = (
        f"HTTP/1.1 {status} {reason}\r\nConnection: close\r\nContent-Type: application/json\r\n"
        f"Cache-Control: no-store\r\nX-Request-ID: {new_request_id()}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    util.write_nonblock(sock, (head + body).encode("latin-1"))


# gunicorn offers no setting for either. It closes a connection in the worker's one accepting
# thread, where it waits up to 2 s for the client to close as well: whoever does not would keep
# everybody else out that long.
util.write_error = write_error
util.close_graceful = functools.partial(util.close_graceful, timeout=0.02)
