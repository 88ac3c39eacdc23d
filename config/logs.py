"""Formats and writes log lines, for people (`text`) or for machines (`json`). Pass values besides
the message as `extra={"fields": {...}}`. Secrets are never logged: paths are logged without query
and fragment, bodies and headers not at all."""

import json
import logging
import re
from logging.handlers import QueueHandler
from queue import SimpleQueue
from threading import Thread
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from base.caller import current_caller
from base.text import CONTROL_RANGES
from base.urls import without_fragment
from metrics import series

ESCAPED = re.compile(f"[{CONTROL_RANGES}\u2028\u2029]")  # with Unicode's line separators
# What gunicorn's messages quote of a request: the text of an invalid one, or a query.
REQUEST_TEXT = re.compile(r"(Invalid request from ip=\S*): .*|\?.*", re.DOTALL)
PLAIN_VALUE = re.compile(r"[\w.:/@+-]+", re.ASCII)
QUEUED_LINES = 5_000  # lines, at most, that wait in a process for a slow reader of the log


class TextFormatter(logging.Formatter):
    """Formats a line as `time LEVEL logger [request] message name=value …`. A traceback's lines are
    indented, so that they cannot pass for log lines."""

    def format(self, record: logging.LogRecord) -> str:
        request_id = current_caller.get().request_id or "-"
        parts = [f"{self.formatTime(record)} {record.levelname} {record.name} [{request_id}]"]
        parts.append(record.getMessage())
        for name, value in getattr(record, "fields", {}).items():
            text = str(value)
            parts.append(f"{name}={text if PLAIN_VALUE.fullmatch(text) else json.dumps(text)}")
        lines = [" ".join(parts)]
        if record.exc_info:
            lines += self.formatException(record.exc_info).splitlines()
        # Control characters are escaped (a line's end as `\n`, ESC as `\x1b`), so that no value can
        # forge a line.
        escaped_lines = [ESCAPED.sub(lambda match: ascii(match[0])[1:-1], line) for line in lines]
        return "\n    ".join(escaped_lines)


class JSONFormatter(JsonFormatter):
    """Formats a line as a JSON object with level, logger, message, time, request_id, the fields
    and, for an error, its traceback as exception."""

    def __init__(self) -> None:
        names = {"levelname": "level", "name": "logger", "exc_info": "exception"}
        super().__init__(["levelname", "name", "message"], rename_fields=names, timestamp="time")

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        fields = log_data.pop("fields", {})
        return {**log_data, "request_id": current_caller.get().request_id or "-", **fields}


class WithoutRequestText(logging.Filter):
    """Removes from gunicorn's messages what may hold secrets: the text of invalid requests, queries
    and fragments."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = without_fragment(REQUEST_TEXT.sub(r"\1", record.getMessage()))
        record.args = ()
        return True


class BackgroundHandler(QueueHandler):
    """Queues lines, which a thread of this process writes to stderr, so that a stuck reader of the
    log blocks no request. If the queue is full, lines are dropped and counted in /metrics."""

    queue: SimpleQueue[logging.LogRecord | None]

    def __init__(self) -> None:
        super().__init__(SimpleQueue())
        self.thread = Thread(target=self.write_lines, daemon=True)
        self.thread.start()

    def enqueue(self, record: logging.LogRecord) -> None:
        if self.queue.qsize() < QUEUED_LINES:
            self.queue.put_nowait(record)
        else:
            series.log_lines_dropped.inc()

    def write_lines(self) -> None:
        writer = logging.StreamHandler()
        for record in iter(self.queue.get, None):  # `close` puts None
            writer.handle(record)

    def close(self) -> None:
        """At exit, wait up to two seconds until the queued lines are written."""
        self.queue.put(None)
        self.thread.join(2)
        super().close()
