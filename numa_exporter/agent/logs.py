"""Structured logs on standard error: logfmt or JSON, one event a line."""

import json
import logging
import sys
from datetime import UTC, datetime

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("logfmt", "json")

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def fields(record: logging.LogRecord) -> dict[str, object]:
    """What a line says: time, level, message, then the event's own fields, then a trace if there is one."""
    told: dict[str, object] = {
        "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "msg": record.getMessage(),
    }
    told.update((key, value) for key, value in vars(record).items() if key not in _STANDARD)
    if record.exc_info:
        told["trace"] = logging.Formatter().formatException(record.exc_info)
    return told


class Logfmt(logging.Formatter):
    """key=value; values with spaces, quotes, equal signs or control characters are quoted as JSON strings."""

    def format(self, record: logging.LogRecord) -> str:
        return " ".join(f"{key}={_quoted(str(value))}" for key, value in fields(record).items())


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(fields(record), ensure_ascii=False, default=str)


def _quoted(value: str) -> str:
    if value and value.isprintable() and not any(character in ' "=' for character in value):
        return value
    return json.dumps(value, ensure_ascii=False)


def start(level: str, form: str) -> None:
    """Send the logs of this process to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else Logfmt())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
