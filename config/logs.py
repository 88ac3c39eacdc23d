"""Log lines for people (`text`) or machines (`json`): one event a line, each with its request.

What an event says besides its message stands in `extra={"fields": {...}}`, as plain values. No
secret goes in: a path is logged without its query, and neither bodies nor headers are logged.
"""

import json
import logging
import re
import threading
from logging.handlers import QueueHandler, QueueListener
from queue import SimpleQueue
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from audit.origin import current
from metrics import series

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
REQUEST_TEXT = re.compile(r"(Invalid request from ip=\S*): .*|\?.*", re.DOTALL)
PLAIN = re.compile(r"[\w.:/@+-]+", re.ASCII)
QUEUED_LINES = 5_000  # that wait for a slow reader of the log, in each process


def escape(found: re.Match[str]) -> str:
    """A control character, such as the end of a line, as `\\xNN`."""
    return found[0].encode("unicode_escape").decode()


class TextFormatter(logging.Formatter):
    """`time LEVEL logger [request] message name=value …`. The lines of a traceback are indented, so
    that nothing in them looks like a line of the log."""

    def format(self, record: logging.LogRecord) -> str:
        request_id = current.get().request_id or "-"
        words = [f"{self.formatTime(record)} {record.levelname} {record.name} [{request_id}]"]
        words.append(record.getMessage())
        for name, value in getattr(record, "fields", {}).items():
            text = str(value)
            words.append(f"{name}={text if PLAIN.fullmatch(text) else json.dumps(text)}")
        lines = [" ".join(words)]
        if record.exc_info:
            lines += self.formatException(record.exc_info).splitlines()
        return "\n    ".join(CONTROLS.sub(escape, line) for line in lines)


class JSONFormatter(JsonFormatter):
    """`{"level", "logger", "message", …fields, "time", "request_id"}`, and `exception` where there
    is a traceback."""

    def __init__(self) -> None:
        names = {"levelname": "level", "name": "logger", "exc_info": "exception"}
        super().__init__(["levelname", "name", "message"], rename_fields=names, timestamp="time")

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        fields = log_data.pop("fields", {})
        return {**log_data, "request_id": current.get().request_id or "-", **fields}


class WithoutRequestText(logging.Filter):
    """gunicorn repeats a bad request's text and a failed request's query; both may hold secrets."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = REQUEST_TEXT.sub(r"\1", record.getMessage()), ()
        return True


class DroppingQueueHandler(QueueHandler):
    """Drops a line for which the queue has no room, and counts it in /metrics: requests go on when
    the reader of the log does not."""

    queue: SimpleQueue[logging.LogRecord]

    def enqueue(self, record: logging.LogRecord) -> None:
        if self.queue.qsize() < QUEUED_LINES:
            self.queue.put_nowait(record)
        else:
            series.log_lines_dropped.inc()


def write_in_background() -> QueueListener:
    """Let a thread of this process write what the root logger's handler writes until now."""
    root = logging.getLogger()
    [writer] = root.handlers
    handler = DroppingQueueHandler(SimpleQueue())
    handler.setFormatter(writer.formatter)  # in the thread of the request, which it names
    writer.setFormatter(None)
    root.handlers = [handler]
    listener = QueueListener(handler.queue, writer)
    listener.start()
    return listener


def write_the_rest(listener: QueueListener, seconds: float = 2) -> None:
    """Write the lines that wait, unless the reader of the log has stopped."""
    stopping = threading.Thread(target=listener.stop, daemon=True)
    stopping.start()
    stopping.join(seconds)
