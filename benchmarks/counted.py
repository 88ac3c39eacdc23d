"""The service, which also counts what each of its processes answers: a byte a request in a file
named by the process, in the folder that COUNTS names."""

import functools
import os
from collections.abc import Callable, Iterable
from typing import Any

from config.wsgi import application as service


@functools.cache
def count() -> int:
    """This process's file, opened at its first request."""
    path = os.path.join(os.environ["COUNTS"], str(os.getpid()))
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    os.write(count(), b".")
    return service(environ, start_response)
