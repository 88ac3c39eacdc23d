"""gunicorn's settings, which `gunicorn config.wsgi` reads."""

import gc
import os
import shutil
import signal
import tempfile
from logging.config import dictConfig
from threading import Thread
from typing import Any

from config import settings

bind = f"[{settings.BIND}]:{settings.PORT}"  # the brackets are for IPv6
workers = settings.WEB_CONCURRENCY
worker_class = "gthread"
threads = settings.WEB_THREADS
preload_app = True  # settings and URLs are loaded once, and an error stops the start
keepalive = 5
graceful_timeout = 10
logconfig_dict = settings.LOGGING
control_socket_disable = True  # one path per user: two services would fight over it
forwarded_allow_ips = ""  # Django decides which proxies to believe (TRUSTED_PROXY_COUNT)


def when_ready(server: Any) -> None:
    server.log.info("consulting-management %s, commit %s", settings.VERSION, settings.COMMIT)
    gc.freeze()  # workers' garbage collection skips what was loaded before the fork


def post_worker_init(worker: Any) -> None:
    from keys.cache import signing_keys

    settings.LOGGING["handlers"]["console"]["class"] = "config.logs.BackgroundHandler"
    dictConfig(settings.LOGGING)
    Thread(target=signing_keys.keep_reading, name="signing-keys", daemon=True).start()


def worker_exit(server: Any, worker: Any) -> None:
    # Ctrl-C sends SIGINT, then the master SIGQUIT; the second would interrupt the exit.
    for ending in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_IGN)


if settings.METRICS_TOKEN:
    # Each process writes its counts to files in this directory, and a scrape adds them up.
    # prometheus_client looks for the variable when it is imported, so that comes later.
    METRICS_DIR = tempfile.mkdtemp(prefix="consulting-metrics-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = METRICS_DIR

    def child_exit(server: Any, worker: Any) -> None:
        from prometheus_client.multiprocess import mark_process_dead

        mark_process_dead(worker.pid)  # its counters stay in the sums, its gauges do not

    def on_exit(server: Any) -> None:
        shutil.rmtree(METRICS_DIR, ignore_errors=True)
