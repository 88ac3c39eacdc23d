"""Private files that are made once: the signing keys and Django's secret."""

import contextlib
import os
import tempfile
from pathlib import Path


def write_once(path: Path, content: bytes) -> None:
    """Write a private file (mode 0600) whole or not at all; one that is there stays as it is.

    A complete draft is hard-linked into place: of processes that start together all find the file
    that came first, and none reads half of one.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-") as draft:
        draft.write(content)
        draft.flush()
        if os.geteuid() == 0:  # root makes it for whoever runs the service
            folder = path.parent.stat()
            os.fchown(draft.fileno(), folder.st_uid, folder.st_gid)
        os.fsync(draft.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft.name, path)
