"""The HTTP client for services that run in processes of their own; `tests.clients.API` is the one
for the service in this process."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from typing import NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self):
        return json.loads(self.body)


def ask(url, method, path, body=None, /, **headers):
    """One request on a connection of its own; the rest as in `send`."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    with closing(connection):
        return send(connection, method, path, body, **headers)


def send(connection, method, path, body=None, /, **headers):
    """One request on this connection, which stays open if the service keeps it.

    `body` goes as JSON; bytes go as they are, and an iterator's in chunks. `_` in a header's name
    goes as `-`; two names that differ in case alone are two lines of one header.
    """
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        names = {"Content-Type": "application/json"} | names
    data = body if isinstance(body, bytes | Iterator | None) else json.dumps(body).encode()
    connection.request(method, path, data, names)
    response = connection.getresponse()
    return Answer(response.status, response.headers, response.read())
