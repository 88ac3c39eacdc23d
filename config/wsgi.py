"""The WSGI application; everything that is loaded once is loaded here, before workers fork."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connections
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()


def load() -> None:
    """Read the signing keys, make the dummy hash and import every view, rather than at the first
    request."""
    from keys.cache import prepare
    from signin import login

    login.dummy_hash()
    prepare()
    connections.close_all()  # each process opens its own
    get_resolver().url_patterns  # noqa: B018


load()
if settings.DATABASES["default"]["ENGINE"] == "config.postgresql":
    # From here on, since commands and migrations may take their time, and no thread may run when
    # workers fork.
    settings.DATABASES["default"] |= settings.DATABASE_OF_REQUESTS
