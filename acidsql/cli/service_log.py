"""The log of ``acidsql service``: one line for each record, as text or as a JSON object."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

from acidsql.background.events import Event
from acidsql.errors import AcidSqlError

FORMATS = ("text", "json")


@contextmanager
def logging_to_stdout(format: str) -> Iterator[None]:
    """Print events and warnings on standard output, for a ``with`` block."""
    logger = logging.getLogger("acidsql")
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    handler.addFilter(_is_told)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


class TextLines(logging.Formatter):
    """Time, level and message; then, for an error, its trace."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text. Only an error that is no AcidSqlError has its trace below."""
        line = f"{_time(record)} {_level(record)} {record.getMessage()}"
        error = _error(record)
        if error is None or isinstance(error, AcidSqlError):
            return line
        return f"{line}\n{self.formatException(record.exc_info)}"  # type: ignore[arg-type]


class JsonLines(logging.Formatter):
    """One JSON object a line.

    ``time``, ``level`` and ``event`` are always there. An event brings its fields. Another record
    has the event "log", with ``logger``, ``message`` and, for an error, ``error`` and ``trace``.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        found: dict[str, Any] = {"time": _time(record), "level": _level(record)}
        event = getattr(record, "event", None)
        if isinstance(event, Event):
            found["event"] = event.action.value
            found |= {name: _rounded(value) for name, value in event.details.items()}
        else:
            found |= {"event": "log", "logger": record.name, "message": record.getMessage()}
        error = _error(record)
        if error is not None:
            found["error"] = type(error).__name__
            found["trace"] = self.formatException(record.exc_info)  # type: ignore[arg-type]
        return json.dumps(found)


def _is_told(record: logging.LogRecord) -> bool:
    """Not each commit, and the like."""
    return record.levelno >= logging.WARNING or hasattr(record, "event")


def _rounded(value: str | float) -> str | float:
    return round(value, 3) if isinstance(value, float) else value


def _time(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _level(record: logging.LogRecord) -> str:
    return record.levelname.lower()


def _error(record: logging.LogRecord) -> BaseException | None:
    return record.exc_info[1] if record.exc_info else None
