"""What a service tells systemd of itself: sd_notify(3), which is one datagram."""

import contextlib
import os
import socket


def notify(state: str) -> None:
    """Send `READY=1` (started) or `WATCHDOG=1` (alive); nothing where systemd does not ask."""
    name = os.environ.get("NOTIFY_SOCKET", "")
    if not name:
        return
    if name.startswith("@"):
        name = "\0" + name[1:]  # a name in the kernel, not in the file system
    # A systemd that is being upgraded loses a word; it must not cost a mail.
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(name)
        sender.sendall(state.encode())
