"""The directory in which gunicorn's processes keep their counts, for a scrape to add up.

gunicorn.conf.py imports the two hooks before anything imports prometheus_client, which looks for
the directory only then.
"""

import fcntl
import os
import shutil
import tempfile
from typing import Any

DIRECTORY = tempfile.mkdtemp(prefix="consulting-metrics-")
os.environ["PROMETHEUS_MULTIPROC_DIR"] = DIRECTORY
# Held by every process, or systemd-tmpfiles would delete files that have not changed for ten days.
fcntl.flock(os.open(DIRECTORY, os.O_RDONLY), fcntl.LOCK_SH)


def child_exit(server: Any, worker: Any) -> None:
    """gunicorn's hook, which the main process calls when a serving process has ended."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)  # its counters stay in the sums, its gauges do not


def on_exit(server: Any) -> None:
    """gunicorn's hook, which the main process calls before it ends. Deletes the counts."""
    shutil.rmtree(DIRECTORY, ignore_errors=True)
