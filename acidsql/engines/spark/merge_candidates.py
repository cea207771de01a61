"""The rows of a MERGE's target that may match a large source, found before a join moves them.

A join of a large source moves the rows of both sides by their keys. Mostly, few rows of the target
have a key that the source has. Where the source's keys fit into each task's memory, the other rows
of the target are left out while they are scanned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from acidsql.engines.spark.gateway import java_classes
from acidsql.engines.spark.job import Job
from acidsql.engines.spark.moved import MovedRows, moved
from acidsql.errors import AnalysisError
from acidsql.model.names import quote_identifier as quote
from acidsql.plans.merge import MergePlan
from acidsql.plans.sql_text import InputSource, SqlText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TARGET = InputSource(name="all_rows")
_KEYS = InputSource(name="keys")

_ROWS_MAX = 2_000_000
"""Sources of more rows are joined as they are. A key takes some 80 bytes in each process."""

_BYTES_MAX = 128 << 20
"""The same of sources of more bytes, if their keys may be long."""


@contextmanager
def moved_by_keys(plan: MergePlan, source: DataFrame) -> Iterator[MovedRows]:
    """The source's rows. If their keys can narrow the target, they are computed, and counted.

    In a second evaluation, the rows of ``source`` must have the same keys (`moved`).
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    names = _key_names(plan, source)
    if not names or java_classes(source.sparkSession) is None:
        yield MovedRows(source, None)
        return
    with moved(source, None, [F.col(quote(name)) for name in names]) as there:
        yield there


def candidates(job: Job, plan: MergePlan, target: DataFrame, source: MovedRows) -> DataFrame:
    """The rows of the target, without rows that no row of the source can match."""
    names = _key_names(plan, source.frame)
    if not names or not _are_few(source, names):
        return target
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    job.inputs |= {
        _TARGET.name: target,
        _KEYS.name: F.broadcast(source.frame.select(*map(quote, dict.fromkeys(names)))),
    }
    equal = (
        f"t.{quote(key.target)} = s.{quote(name)}"
        for key, name in zip(plan.keys, names, strict=True)
    )
    on = " AND ".join(equal)
    text = SqlText.of("SELECT t.* FROM ", _TARGET, " AS t LEFT SEMI JOIN ", _KEYS, f" AS s ON {on}")
    try:
        return job.sql(text)
    except AnalysisError:
        return target  # The join makes the same mistake, in the statement's own words.


def _key_names(plan: MergePlan, source: DataFrame) -> Sequence[str]:
    """The source's columns that the keys name. None if rows without a match are needed, too."""
    names = {name.lower(): name for name in source.columns}
    count = Counter(name.lower() for name in source.columns)
    keys = [key.source.lower() for key in plan.keys]
    if plan.by_source or any(count[key] != 1 for key in keys):
        return ()
    return [names[key] for key in keys]


def _are_few(source: MovedRows, keys: Sequence[str]) -> bool:
    """Whether each process can hold the keys, as far as Spark has counted the rows."""
    from pyspark.sql import types  # noqa: PLC0415

    if source.rows is None or source.bytes is None or source.rows > _ROWS_MAX:
        return False
    short = (types.NumericType, types.DateType, types.TimestampType, types.BooleanType)
    are_short = all(isinstance(source.frame.schema[key].dataType, short) for key in keys)
    return are_short or source.bytes <= _BYTES_MAX
