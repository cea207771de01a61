"""Streams into tables: by Hive's Streaming Data Ingest API V2, and from Spark's streaming queries.

This module has the public names. They are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acidsql.streaming.batch_sink import sink
    from acidsql.streaming.builder import StreamingConnectionBuilder
    from acidsql.streaming.connection import StreamingConnection
    from acidsql.streaming.stats import ConnectionStats
    from acidsql.streaming.writers import (
        ArrowRecordWriter,
        Encoded,
        RecordWriter,
        StrictDelimitedInputWriter,
        StrictJsonWriter,
        StrictRegexWriter,
    )

_LATER = {
    "ArrowRecordWriter": "acidsql.streaming.writers",
    "ConnectionStats": "acidsql.streaming.stats",
    "Encoded": "acidsql.streaming.writers",
    "RecordWriter": "acidsql.streaming.writers",
    "StreamingConnection": "acidsql.streaming.connection",
    "StreamingConnectionBuilder": "acidsql.streaming.builder",
    "StrictDelimitedInputWriter": "acidsql.streaming.writers",
    "StrictJsonWriter": "acidsql.streaming.writers",
    "StrictRegexWriter": "acidsql.streaming.writers",
    "sink": "acidsql.streaming.batch_sink",
}
"""The public names with their modules."""

__all__ = [
    "ArrowRecordWriter",
    "ConnectionStats",
    "Encoded",
    "RecordWriter",
    "StreamingConnection",
    "StreamingConnectionBuilder",
    "StrictDelimitedInputWriter",
    "StrictJsonWriter",
    "StrictRegexWriter",
    "sink",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
