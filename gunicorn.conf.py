"""gunicorn's settings, which `gunicorn config.wsgi` reads."""

import gc
import os
import signal
from logging.config import dictConfig
from threading import Thread, Timer
from typing import Any

from config import settings

if settings.METRICS_TOKEN:  # before prometheus_client is imported
    from metrics.processes import child_exit, on_exit  # noqa: F401 - hooks of gunicorn's

bind = f"[{settings.BIND}]:{settings.PORT}"  # the brackets are for IPv6
workers = settings.WEB_CONCURRENCY
worker_class = "gthread"
threads = settings.WEB_THREADS
preload_app = True  # settings and URLs are loaded once, and an error stops the start
# Seconds for which an idle connection is kept; it takes no thread. The proxy must close first: one
# that reuses a connection which is being closed doesn't repeat a POST. Envoy keeps its own longest:
# an hour. Browsers repeat it.
keepalive = 3700 if settings.TRUSTED_PROXY_COUNT else 5
limit_request_line = 8190  # nginx passes lines of up to 8 KB on
graceful_timeout = 10
logconfig_dict = settings.LOGGING
control_socket_disable = True  # one path per user: two services would fight over it
forwarded_allow_ips = ""  # Django decides which proxies to believe (TRUSTED_PROXY_COUNT)


def when_ready(server: Any) -> None:
    server.log.info("consulting-management %s, commit %s", settings.VERSION, settings.COMMIT)
    gc.freeze()  # else each worker's garbage collection copies what was loaded before the fork


def post_worker_init(worker: Any) -> None:
    if settings.METRICS_TOKEN:  # somebody may have emptied /tmp
        os.makedirs(os.environ["PROMETHEUS_MULTIPROC_DIR"], exist_ok=True)
    from keys.cache import signing_keys
    from throttling.limiter import network_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the master ends its workers
    # A factory: from Python 3.12 on, `class` treats subclasses of QueueHandler in a way of its own.
    handler = {"()": "config.logs.BackgroundHandler", "formatter": settings.LOG_FORMAT}
    settings.LOGGING["handlers"]["console"] = handler
    dictConfig(settings.LOGGING)
    for reader in (signing_keys, network_limits):
        Thread(target=reader.keep_reading, daemon=True).start()


def worker_int(worker: Any) -> None:
    """Ctrl-C. Threads that wait for a browser's next request would hold the worker for seconds."""
    end = Timer(0.5, os._exit, [0])
    end.daemon = True  # a worker without such threads ends before it
    end.start()
