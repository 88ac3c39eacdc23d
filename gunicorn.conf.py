"""gunicorn's settings, which `gunicorn config.wsgi` reads."""

import contextlib
import gc
import os
import resource
import signal
from logging.config import dictConfig
from threading import Thread, Timer
from typing import Any

from gunicorn.glogging import Logger

from config import settings

OPEN_FILES = 4096  # of a process: gunicorn's thousand connections, and those to the servers
# Many systems allow 1,024 unless a program asks for more. A gunicorn process that can't accept a
# connection ends, and with it the requests of its threads. A sandbox may forbid the change.
with contextlib.suppress(OSError, ValueError):
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft_limit < OPEN_FILES:  # -1: no limit
        soft_limit = OPEN_FILES if hard_limit < 0 else min(OPEN_FILES, hard_limit)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft_limit, hard_limit))

if settings.METRICS_TOKEN:  # before prometheus_client is imported
    from metrics.processes import child_exit, on_exit  # noqa: F401 - gunicorn calls these hooks


class ErrorLogger(Logger):
    """gunicorn's logger without an access log, which AccessLogMiddleware writes: gunicorn would
    collect all headers and variables of each request for it."""

    def access(self, *request: Any) -> None:
        pass


bind = f"[{settings.BIND}]:{settings.PORT}"  # the brackets are for IPv6
workers = settings.WEB_CONCURRENCY
worker_class = "gthread"
threads = settings.WEB_THREADS
preload_app = True  # settings and URLs are loaded once, and an error stops the start
# Seconds for which an idle connection is kept; it takes no thread. A proxy must close it first: a
# proxy that sends a POST while gunicorn closes the connection does not repeat it, as browsers do.
# Envoy keeps idle connections longest of the usual proxies: an hour.
keepalive = 3700 if settings.TRUSTED_PROXY_COUNT else 5
limit_request_line = 8190  # bytes; nginx forwards lines of up to 8 KB
graceful_timeout = 10  # seconds in which a worker may finish its requests
logconfig_dict = settings.LOGGING
logger_class = ErrorLogger
control_socket_disable = True  # its path is the same for all services of a user
forwarded_allow_ips = ""  # Django decides which proxies to believe (TRUSTED_PROXY_COUNT)


def when_ready(server: Any) -> None:
    """Before the first worker is forked, log the version, and keep loaded memory shared."""
    server.log.info("consulting-management %s, commit %s", settings.VERSION, settings.COMMIT)
    gc.freeze()  # else each worker's garbage collection copies the memory shared since the fork


def post_worker_init(worker: Any) -> None:
    """In a new worker, start its threads, which write log lines and read keys and limits."""
    if settings.METRICS_TOKEN:  # a cleaner of /tmp may have deleted the folder
        os.makedirs(os.environ["PROMETHEUS_MULTIPROC_DIR"], exist_ok=True)
    from keys.cache import signing_keys
    from throttling.limiter import network_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the master ends its workers
    # A factory: from Python 3.12 on, dictConfig adds a listener to a QueueHandler given as "class".
    handler = {"()": "config.logs.BackgroundHandler", "formatter": settings.LOG_FORMAT}
    settings.LOGGING["handlers"]["console"] = handler
    dictConfig(settings.LOGGING)
    for cache in (signing_keys, network_limits):
        Thread(target=cache.keep_reading, daemon=True).start()


def worker_int(worker: Any) -> None:
    """On Ctrl-C, end the worker after half a second. Its threads that wait for a browser's next
    request would delay its end by seconds."""
    timer = Timer(0.5, os._exit, [0])
    timer.daemon = True  # a worker without such threads ends before the timer
    timer.start()
