"""Plan texts → DataFrames: sources by frame, parameters bound as values."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.parameters import bound
from acidsql.plans.sql_text import FrameSource, InputSource, SqlText, TableSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_guard = threading.Lock()
_configured: dict[tuple[int, str], tuple[str | None, int]] = {}

Resolve = Callable[[TableSource | FrameSource | InputSource], "DataFrame"]


def run_sql(
    spark: SparkSession, text: SqlText, resolve: Resolve, parameters: Mapping[str, Any]
) -> DataFrame:
    """The DataFrame of a query. Each source is bound to its frame, not to a name.

    PySpark fills the frames into braces, so the text's own braces are doubled; without a frame it
    leaves the text alone.
    """
    frames: dict[str, DataFrame] = {}
    filled = any(not isinstance(part, str) for part in text.parts)
    names: dict[TableSource | FrameSource | InputSource, str] = {}
    rendered = []
    for part in text.parts:
        if isinstance(part, str):
            rendered.append(part.replace("{", "{{").replace("}", "}}") if filled else part)
            continue
        if part not in names:
            names[part] = f"acidsql_{len(names)}"
            frames[names[part]] = resolve(part)
        rendered.append(f"{{{names[part]}}}")
    with clear_errors():
        args = {name: bound(name, value) for name, value in parameters.items()}
        return spark.sql("".join(rendered), args=args or None, **frames)


@contextmanager
def configured(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    """A setting of the session for as long as a block runs.

    Blocks of several threads may overlap: the first of them sets it, the last sets it back.
    """
    place = (id(spark), key)
    with _guard:
        before, depth = _configured.get(place, (spark.conf.get(key, None), 0))
        _configured[place] = (before, depth + 1)
        if depth == 0 and before != value:  # Spark logs a warning for some settings
            spark.conf.set(key, value)
    try:
        yield
    finally:
        with _guard:
            depth = _configured[place][1] - 1
            _configured[place] = (before, depth)
            if depth == 0:
                del _configured[place]
                if before != value:
                    _set_back(spark, key, before)


def _set_back(spark: SparkSession, key: str, before: str | None) -> None:
    if before is None:
        spark.conf.unset(key)
    else:
        spark.conf.set(key, before)


def ansi(spark: SparkSession) -> AbstractContextManager[None]:
    """Analyse with ANSI rules: a value that does not fit its column is an error, never bent.

    They bind when a query is analysed, so they need not hold while it runs.
    """
    return configured(spark, "spark.sql.ansi.enabled", "true")


def literal(text: str) -> str:
    r"""A string literal of Spark SQL.

    >>> literal("it's")
    "'it\\'s'"
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
