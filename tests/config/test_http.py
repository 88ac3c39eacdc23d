"""What is no valid HTTP, or no sensible request, as raw bytes to a real gunicorn."""

import json
import socket

import pytest


@pytest.fixture
def service(new_service):
    return new_service().start()


def send(service, request):
    """Status, headers and body of the answer to raw bytes."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as connection:
        connection.sendall(request)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return int(lines[0].split()[1]), headers, body


LOGIN = b"POST /auth/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
ME = b"GET /auth/me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"

REQUESTS = {
    "no request line": (b"GARBAGE\r\n\r\n", 400),
    "long path": (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
    "long header": (ME + b"X-Long: " + b"a" * 20_000 + b"\r\n\r\n", 431),
    "length that is no number": (LOGIN + b"Content-Length: abc\r\n\r\n", 400),
    "negative length": (LOGIN + b"Content-Length: -1\r\n\r\n", 400),
    "two hosts": (ME + b"Host: other\r\n\r\n", 400),
    "too large": (LOGIN + b"Content-Length: 10000000\r\n\r\n{}", 413),
    "chunked": (LOGIN + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411),
    "unknown host": (ME.replace(b"localhost", b"evil.example") + b"\r\n", 400),
    "bytes in the path": (ME.replace(b"/me", b"/%ff%00%c3%28") + b"\r\n", 404),
    "bytes in the bearer": (ME + b"Authorization: Bearer \xff\xfe\r\n\r\n", 401),
    "bytes in the cookie": (
        LOGIN.replace(b"login", b"refresh") + b"Cookie: service_refresh=\xff\r\n\r\n",
        401,
    ),
    "bytes in the language": (
        LOGIN + b"Accept-Language: \xff;q=\xff\r\nContent-Length: 2\r\n\r\n{}",
        415,
    ),
}


def test_answers_have_the_right_status_and_the_service_s_own_are_json(service):
    """What is no HTTP at all is gunicorn's to answer, in HTML; nginx never lets it through."""
    for name, (request, expected) in REQUESTS.items():
        status, headers, body = send(service, request)

        assert status == expected, name
        assert int(headers["content-length"]) == len(body), name
        if headers["content-type"] == "application/json":
            assert list(json.loads(body)) == ["error"], name
        else:
            assert status in {400, 414, 431}, name


def test_two_requests_on_one_connection(service):
    request = ME.replace(b"Connection: close\r\n", b"") + b"\r\n" + ME + b"\r\n"

    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as connection:
        connection.sendall(request)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))

    assert answer.count(b"HTTP/1.1 401 Unauthorized") == 2
