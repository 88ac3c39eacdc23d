"""The WSGI application; everything that is loaded once is loaded here, before workers fork."""

import os

from django.core.cache import close_caches
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import connections, reset_queries
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()


def load() -> None:
    """Read the signing keys, make the dummy hash and import every view, rather than at the first
    request."""
    from config.postgresql.base import Connection
    from config.postgresql.breaker import breaker
    from keys.cache import prepare
    from signin import login

    Connection.patience = 2.0
    # After each request Django closes caches, and before it empties a log of queries. The limiter
    # keeps its connections, there is no other cache, and queries are logged with DEBUG alone.
    request_finished.disconnect(close_caches)
    request_started.disconnect(reset_queries)
    login.dummy_hash()
    breaker.may_open = False
    prepare()
    connections.close_all()  # a process of its own opens its own
    breaker.may_open = True
    get_resolver().url_patterns  # noqa: B018


load()
