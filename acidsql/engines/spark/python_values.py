"""Values of Spark for which Python, or pandas, has none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from acidsql.errors import ExecutionError

_REASONS = (
    (
        re.compile("unhashable type"),
        "a map whose keys are arrays or maps cannot be a dict of Python",
        "Take the rows with arrow(), or select map_entries(…) of the map.",
    ),
    (
        re.compile("out of range|out of bounds|ordinal must be"),
        "a date or a timestamp lies outside of what Python has",
        "Python has the years 1 to 9999, pandas those from 1677 to 2262. Take the rows with"
        " arrow(), or cast the value to a string.",
    ),
    (
        re.compile("YearMonthIntervalType"),
        "Python has no intervals of years and months",
        "Cast the value to a string.",
    ),
    (
        re.compile("^Unknown error: Wrapping .* failed", re.DOTALL),
        "a text is not UTF-8, which texts of Python are",
        "Take the rows with arrow(), or cast the value to binary.",
    ),
)
"""What PySpark, pandas and pyarrow say of such a value, what that means, and what to do."""
_ERRORS = (TypeError, ValueError, OverflowError, NotImplementedError, pa.ArrowException)


@contextmanager
def python_values() -> Iterator[None]:
    """Turn the failure to make a value of Python into an ExecutionError with a hint."""
    try:
        yield
    except _ERRORS as error:
        for pattern, message, hint in _REASONS:
            if pattern.search(str(error)):
                raise ExecutionError(message, detail=f"{error}.", hint=hint) from error
        raise
