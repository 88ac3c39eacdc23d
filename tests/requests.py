"""The HTTP client for services that run in processes of their own; `tests.conftest.API` is the one
for the service in this process."""

import http.client
import json
from typing import Any, NamedTuple
from urllib.parse import urlsplit


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def ask(url: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    """One request on a connection of its own; `body` goes as JSON, `_` in a header as `-`."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None:
        names["Content-Type"] = "application/json"
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request(method, path, data, names)
        response = connection.getresponse()
        return Answer(response.status, response.headers, response.read())
    finally:
        connection.close()
