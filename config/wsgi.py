"""The WSGI application, which gunicorn loads before its workers fork."""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from io import BytesIO
from typing import Any

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import Error, connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()
django_application = get_wsgi_application()
CHARSET = re.compile(r";\s*charset[^;]*", re.IGNORECASE)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Django's application, with two changes to the request:

    - The charset of Content-Type is dropped, since JSON is UTF-8 (RFC 8259 §8.1). Django would
      decode bodies and queries with any codec that it names, even `zlib`.
    - A chunked body (RFC 9112 §7.1) gets a Content-Length, without which Django ignores it. Of a
      body that is too long, one byte more than allowed is read, so that it is refused.
    """
    environ["CONTENT_TYPE"] = CHARSET.sub("", environ.get("CONTENT_TYPE", ""))
    if environ.pop("HTTP_TRANSFER_ENCODING", None):  # gunicorn decodes it
        body = environ["wsgi.input"].read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        environ |= {"wsgi.input": BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    return django_application(environ, start_response)


def prepare_process() -> None:
    """Prepare what all workers share, before they fork: import every view, compute the dummy hash,
    read the signing keys, and encrypt the providers' secrets with the present SECRET_KEY. Raises
    SystemExit if SECRET_KEY decrypts no signing key."""
    import config.urls  # noqa: F401
    import scim.protocol  # noqa: F401
    from keys.cache import prepare_keys
    from signin import credentials
    from sso.models import IdentityProvider

    credentials.dummy_hash()
    prepare_keys()
    with suppress(Error):  # the database may be unavailable until later
        IdentityProvider.objects.encrypt_anew()
    connections.close_all()  # each process opens connections of its own
    # Set only here: statements of commands may take longer, and the threads of a pool must not run
    # when workers fork.
    settings.DATABASES["default"] |= settings.DATABASE_OF_REQUESTS


prepare_process()
