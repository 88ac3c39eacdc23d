"""gunicorn's threaded worker, with threads of their own for the requests that hash a password."""

import socket
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote_to_bytes

from gunicorn.workers.gthread import TConn, ThreadWorker

SIGN_INS = {
    b"/auth/login",
    b"/auth/complete-signup",
    b"/auth/register",
    b"/invitations/accept",
    b"/password-changes/redeem",
    b"/oauth/authorize",
    b"/admin/login/",
}
# Each byte of a path may come as three: %6c is an l (RFC 3986 §2.1).
LONGEST = len(b"POST ?") + 3 * max(map(len, SIGN_INS))


def is_sign_in(connection: socket.socket) -> bool:
    """Whether the next request will want a password hashed, by its first line, which stays to be
    read. What has not come yet counts as none; nor does a whole URL in place of the path, which
    nginx never hands on."""
    try:
        start = connection.recv(LONGEST, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except OSError:
        return False
    method, _, rest = start.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0].partition(b"#")[0]
    if b"%" in path:
        path = unquote_to_bytes(path)
    return method == b"POST" and path in SIGN_INS


class SignInPool(ThreadPoolExecutor):
    """Threads for all requests but those that hash a password, which are handed on to threads of
    their own: as many as hashes are made at a time, so that a crowd at the log-in waits in a queue
    that holds no thread, and nobody else waits in it.
    """

    def __init__(self, threads: int, sign_in_threads: int) -> None:
        super().__init__(threads)
        self.sign_ins = ThreadPoolExecutor(sign_in_threads)

    def submit(self, handle: Callable[..., Any], conn: TConn) -> Future[Any]:  # type: ignore[override]
        """gunicorn's one call: `handle(conn)`, for a connection with something to read."""
        done: Future[Any] = Future()
        super().submit(self.dispatch, done, handle, conn)
        return done

    def dispatch(self, done: Future[Any], handle: Callable[..., Any], conn: TConn) -> None:
        if conn.wait_for_data(1) and is_sign_in(conn.sock):
            self.sign_ins.submit(self.serve, done, handle, conn, time.monotonic())
        else:
            self.serve(done, handle, conn, None)

    def serve(
        self, done: Future[Any], handle: Callable[..., Any], conn: TConn, since: float | None
    ) -> None:
        from signin import hashers

        hashers.waiting_since.set(since)
        try:
            done.set_result(handle(conn))
        except BaseException as error:
            done.set_exception(error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        self.sign_ins.shutdown(wait, cancel_futures=cancel_futures)


class Worker(ThreadWorker):
    def get_thread_pool(self) -> SignInPool:
        """gunicorn's place for threads of another kind."""
        from signin import hashers

        return SignInPool(
            max(1, self.cfg.threads - hashers.MAX_PARALLEL_HASHES), hashers.MAX_PARALLEL_HASHES
        )
