"""What the bytes of a request tell before a thread is given to it."""

import inspect
import re
import socket
import uuid

import pytest
from django.conf import settings
from django.urls import get_resolver, resolve
from gunicorn.http.errors import NoMoreData

from config.received import LARGEST, SIGN_INS, Received, is_sign_in, is_whole
from tests.signin.factors.test_side_doors import routes

HEAD = b"POST /auth/me HTTP/1.1\r\nHost: localhost\r\n"
# What a view's `post` says where it leads to a hash.
HASHING = re.compile(r"\.prove\(|sign_in_by_link\(|check_credentials\(|self\.sign_in\(")


@pytest.fixture
def connection():
    """The service's end and the client's."""
    service, client = socket.socketpair()
    yield service, client
    service.close()
    client.close()


@pytest.mark.parametrize("path", sorted(SIGN_INS))
def test_paths_are_the_services_own(path):
    assert resolve(path.decode()).view_name != resolve("/unknown").view_name


def test_every_call_that_hashes_waits_for_its_turn_and_no_other():
    for path, callback in routes(get_resolver()):
        post = getattr(getattr(callback, "cls", None), "post", None)
        hashes = path == "admin/login/" or bool(post and HASHING.search(inspect.getsource(post)))
        called = re.sub("<uuid:.*?>", str(uuid.uuid4()), path)

        assert is_sign_in(f"POST /{called} HTTP/1.1\r\n".encode()) is hashes, path


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        (b"POST /auth/login HTTP/1.1\r\n", True),
        (b"\r\nPOST /auth/login HTTP/1.1\r\n", True),  # RFC 9112 §2.2 allows an empty line
        (b"POST /auth/login?next=/ HTTP/1.1\r\n", True),
        (b"POST /auth/login#x HTTP/1.1\r\n", True),
        (b"POST /auth/%6cog%69n?next=%2f HTTP/1.1\r\n", True),
        (b"POST /auth/%256cogin HTTP/1.1\r\n", False),
        (b"POST /auth/refresh HTTP/1.1\r\n", False),
        (b"GET /auth/login HTTP/1.1\r\n", False),
        (b"POST /auth/login/x HTTP/1.1\r\n", False),
        (b"\x16\x03\x01", False),
        (b"", False),
    ],
)
def test_first_line_tells_a_sign_in(request_line, expected):
    assert is_sign_in(request_line) is expected


@pytest.mark.parametrize("path", sorted(SIGN_INS))
def test_path_that_is_percent_encoded_throughout_counts(path):
    encoded = b"".join(b"%%%02x" % byte for byte in path)

    assert is_sign_in(b"POST " + encoded + b" HTTP/1.1\r\n")
    assert not is_sign_in(b"POST " + encoded + b"%41 HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("received", "expected"),
    [
        (b"", False),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n", False),
        (b"GET /health HTTP/1.1\r\n\r\n", True),
        (HEAD + b"\r\n", True),
        (HEAD + b"Content-Length: 2\r\n\r\n{", False),
        (HEAD + b"Content-Length: 2\r\n\r\n{}", True),
        (HEAD + b"content-length:\t00000000000000000002\r\n\r\n{", False),
        (HEAD + b"Content-Length: 0\r\n\r\n", True),
        (HEAD + b"X: Content-Length: 2\r\n\r\n", True),
        # What is refused without its body, or by gunicorn.
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", True),
        (HEAD + b"Content-Length: %d\r\n\r\n" % LARGEST, True),
        (HEAD + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", True),
        (HEAD + b"Content-Length: abc\r\n\r\n", True),
        (HEAD + b"X: " + b"x" * LARGEST, True),
    ],
)
def test_whole_request_is_known(received, expected):
    assert is_whole(received) is expected


def test_largest_body_that_is_read_is_waited_for():
    length = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    head = HEAD + b"Content-Length: %d\r\n\r\n" % length

    assert not is_whole(head + b"x" * (length - 1))
    assert is_whole(head + b"x" * length)


def test_request_comes_in_parts(connection):
    received, (service, client) = Received(), connection
    assert not received.is_ready(service)

    client.sendall(HEAD)
    assert not received.is_ready(service)
    client.sendall(b"\r\n")
    assert received.is_ready(service)
    assert received.read() == HEAD + b"\r\n"


def test_closed_connection_is_ready(connection):
    received, (service, client) = Received(), connection
    client.sendall(HEAD)
    client.close()

    received.is_ready(service)
    assert received.is_ready(service)
    assert received.read() == HEAD


def test_nobody_waits_for_what_has_not_come(
    connection,
):
    received, (service, client) = Received(), connection
    client.sendall(b"{")
    received.is_ready(service)

    with pytest.raises(NoMoreData):
        received.read(2)
