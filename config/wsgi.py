"""The WSGI application. What can be loaded once is loaded here, before workers fork."""

import os
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connections
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django_application = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Django's application, for UTF-8 only (RFC 8259 §8.1). Django would decode bodies and queries
    with any codec that a Content-Type names, even `zlib`, or fail outside `config.errors`."""
    environ["CONTENT_TYPE"] = environ.get("CONTENT_TYPE", "").partition(";")[0]
    return django_application(environ, start_response)


def load() -> None:
    """Read the signing keys, compute the dummy hash and import every view before the first
    request."""
    from keys.cache import prepare
    from signin import login

    login.dummy_hash()
    prepare()
    connections.close_all()  # each process opens its own
    get_resolver().url_patterns  # noqa: B018


load()
if settings.DATABASES["default"]["ENGINE"] == "config.postgresql":
    # Set only here: commands and migrations may take longer, and no thread may run when workers
    # fork.
    settings.DATABASES["default"] |= settings.DATABASE_OF_REQUESTS
