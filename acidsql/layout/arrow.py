"""Short names for Arrow values in annotations.

The published stubs type every array by its exact kind, while our functions take any kind and decide
by the Hive type; so these are Any to the type checker.
"""

from __future__ import annotations

from typing import Any, TypeAlias

Array: TypeAlias = Any
"""A pyarrow.Array."""

DataType: TypeAlias = Any
"""A pyarrow.DataType."""
