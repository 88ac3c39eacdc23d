"""Log lines: for people (`text`) or machines (`json`), one event a line, each with its request.

What an event says besides its message stands in `extra={"fields": {...}}`, as plain values. No
secret goes in: a path is logged without its query, and neither bodies nor headers are.
"""

import functools
import json
import logging
import os
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from select import PIPE_BUF

from audit.origin import current
from config.postgresql.breaker import breaker

# What no line shows need not be found out for each (the logging HOWTO, "Optimization").
logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
logging._srcfile = None  # nor where the line was written

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
STANDARD_ERROR = 2  # its file descriptor, whatever sys.stderr is replaced by
PLAIN = re.compile(r"[\w.:/@+-]+", re.ASCII)


@functools.lru_cache(maxsize=2)
def local_time(second: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))


class WithoutRequestText(logging.Filter):
    """gunicorn repeats a bad request's text, and a failed one's query; neither may be logged."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, str) and record.msg.startswith("Invalid request from ip="):
            record.msg = record.msg.partition(": ")[0]
        elif isinstance(record.args, tuple):
            record.args = tuple(
                value.partition("?")[0] if isinstance(value, str) else value
                for value in record.args
            )
        return True


class WithoutOutages(logging.Filter):
    """Django repeats each 503: those of an outage are counted by the breaker, and of others
    config.errors tells the cause. Only a page's, with its traceback, is told by nobody else."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", None) != 503:
            return True
        return bool(record.exc_info) and not breaker.is_open


def escaped(text: str) -> str:
    """The text on one line: control characters, line ends among them, as `\\xNN`."""
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def word(value: object) -> str:
    text = str(value)
    return text if PLAIN.fullmatch(text) else json.dumps(text)


def pieces(text: bytes) -> Iterator[bytes]:
    """The text in parts that the kernel keeps whole in any pipe (POSIX promises that for PIPE_BUF
    bytes), cut between lines where lines fit."""
    while len(text) > PIPE_BUF:
        end = text.rfind(b"\n", 0, PIPE_BUF) + 1 or PIPE_BUF
        yield text[:end]
        text = text[end:]
    yield text


class LineHandler(logging.Handler):
    """Writes each record to the standard error output, without a lock.

    The kernel keeps a line in one piece, as it must for several processes. StreamHandler has the
    threads of a process wait for each other's formatting and writing: a tenth of all requests.
    """

    def handle(self, record: logging.LogRecord) -> bool:
        """Handler's, but for the lock. A filter may put another record in place of this one."""
        found: bool | logging.LogRecord = self.filter(record)
        if not found:
            return False
        record = found if isinstance(found, logging.LogRecord) else record
        try:
            for piece in pieces(f"{self.format(record)}\n".encode(errors="backslashreplace")):
                os.write(STANDARD_ERROR, piece)
        except Exception:  # as every handler of the standard library does
            self.handleError(record)
        return True


class TextFormatter(logging.Formatter):
    """`time LEVEL logger [request] message name=value …`; a traceback's lines are indented, so
    that nothing in them can pass for a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        at = f"{local_time(int(record.created))},{int(record.msecs):03}"
        words = [f"{at} {record.levelname} {record.name} [{current.get().request_id or '-'}]"]
        words.append(escaped(record.getMessage()))
        fields: dict[str, object] = getattr(record, "fields", {})
        words += [f"{name}={word(value)}" for name, value in fields.items()]
        line = " ".join(words)
        if record.exc_info:
            trace = self.formatException(record.exc_info).splitlines()
            line = "\n    ".join([line, *map(escaped, trace)])
        return line


class JSONFormatter(logging.Formatter):
    """`{"time", "level", "logger", "request_id", "message", …fields}`, and `exception` where there
    is a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "request_id": current.get().request_id or "-",
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
