"""What has come of a request, before a thread is given to it."""

import re
import socket
from urllib.parse import unquote_to_bytes

from gunicorn.http.errors import NoMoreData
from gunicorn.http.unreader import Unreader

SIGN_INS = {
    b"/auth/login",
    b"/auth/complete-signup",
    b"/auth/register",
    b"/invitations/accept",
    b"/password-changes/redeem",
    b"/oauth/authorize",
    b"/admin/login/",
}
# And what somebody who is signed in shows the password for once more.
PROOFS = re.compile(
    rb"/auth/(?:factors/(?:totp|passkeys/options|[0-9a-f-]{36}/remove)|recovery-codes|email-changes)"
)
FIRST_LINE = re.compile(rb"(?:\r\n)?POST ([^ ?#]*)")
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*0*(\d{1,9})", re.IGNORECASE)
LARGEST = 128 * 1024  # bytes; more than nginx hands on, or the service reads


def is_sign_in(request: bytes) -> bool:
    """Whether it will want a password hashed. A whole URL in place of the path, which nginx never
    hands on, counts as none."""
    found = FIRST_LINE.match(request)
    path = unquote_to_bytes(found[1]) if found else b""
    return path in SIGN_INS or PROOFS.fullmatch(path) is not None


def is_whole(request: bytes) -> bool:
    """Whether nobody has to wait for its rest. What is too large is refused without its body."""
    head, end, body = request.partition(b"\r\n\r\n")
    length = LENGTH.search(head)
    if not end:
        return len(request) > LARGEST
    return length is None or not len(body) < int(length[1]) < LARGEST


class Received(Unreader):
    """Where gunicorn's parser finds the bytes. Whoever wants more of them than have come ends the
    connection, and waits for nobody."""

    def chunk(self, size_hint: int | None = None) -> bytes:
        raise NoMoreData

    def is_ready(self, sock: socket.socket) -> bool:
        """Take what has come. Whether that is a whole request, or the last there will be of it."""
        try:
            more = sock.recv(LARGEST, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return is_whole(self.buf.getvalue())
        except OSError:
            return True
        self.unread(self.take_buffered() + more)
        return more == b"" or is_whole(self.buf.getvalue())
