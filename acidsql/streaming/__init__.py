"""Streaming ingest: the sink for Spark Structured Streaming.

This module has the public names. They are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acidsql.streaming.batch_sink import sink

_LATER = {"sink": "acidsql.streaming.batch_sink"}
"""The public names with their modules."""

__all__ = ["sink"]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
