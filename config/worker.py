"""gunicorn's threaded worker, with threads for whole requests alone, and few for sign-ins."""

import socket
import time
from functools import partial
from selectors import EVENT_READ

from gunicorn.workers.gthread import TConn, ThreadWorker

from config.received import Received, is_sign_in


class Worker(ThreadWorker):
    """Silent connections and half-sent requests wait in gunicorn's poller, `keepalive` seconds in
    all; sign-ins in a queue, while as many are under way as hashes are made at a time. Neither
    holds a thread. All but `handle` runs in the one thread that accepts.
    """

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        from signin import hash_slots  # which reads Django's settings

        self.at_a_time = hash_slots.AT_MOST
        self.sign_ins: dict[TConn, float] = {}  # when each came; the first of them are under way

    def enqueue_req(self, conn: TConn) -> None:
        """gunicorn's way to a thread, for a connection that is new or may have more to read."""
        if not conn.initialized:
            conn.init()
            conn.parser.unreader = Received()
        if conn.parser.unreader.is_ready(conn.sock):
            self.dispatch(conn)
        else:
            conn.set_timeout()
            self.pending_conns.append(conn)
            readable = partial(self.on_pending_socket_readable, conn)
            self.poller.register(conn.sock, EVENT_READ, readable)

    def on_pending_socket_readable(self, conn: TConn, client: socket.socket) -> None:
        if conn.parser.unreader.is_ready(client):
            super().on_pending_socket_readable(conn, client)

    def dispatch(self, conn: TConn) -> None:
        """Give the connection a thread, unless it has to wait for its turn to sign in."""
        if is_sign_in(conn.parser.unreader.buf.getvalue()):
            self.sign_ins[conn] = time.monotonic()
        if conn not in self.sign_ins or len(self.sign_ins) <= self.at_a_time:
            super().enqueue_req(conn)

    def finish_request(self, conn: TConn, fs: object) -> None:
        waiting = list(self.sign_ins)[self.at_a_time :]
        if self.sign_ins.pop(conn, None) and waiting:
            super().enqueue_req(waiting[0])
        super().finish_request(conn, fs)
