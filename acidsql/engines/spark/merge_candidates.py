"""The rows of a MERGE's target that may match a large source, found before a join moves them.

A join of a large source moves the rows of both sides by their keys. Mostly, few rows of the target
have a key that the source has. Where the source's keys fit into each task's memory, the other rows
of the target are left out while they are scanned: by bits that stand for hashes of the keys
(`key_bits`), or where equal keys may have other hashes, by a join with the keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import java_classes
from acidsql.engines.spark.job import Job, collect_all
from acidsql.engines.spark.key_bits import key_words, may_be_key
from acidsql.engines.spark.key_hash import have_one_hash
from acidsql.engines.spark.moved import MovedRows, moved
from acidsql.engines.spark.value_errors import SOURCE_CHANGED
from acidsql.errors import AnalysisError
from acidsql.model.names import quote_identifier as quote
from acidsql.plans.merge import MergePlan
from acidsql.plans.sql_text import InputSource, SqlText

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_TARGET = InputSource(name="all_rows")
_KEYS = InputSource(name="keys")

_HASHES_MAX = 4_000_000
"""Of so many source rows at most, the keys are hashed: then a process holds 8 MiB of their bits."""

_ROWS_MAX = 2_000_000
"""Sources of more rows are joined as they are, if their keys cannot be hashed. A key takes some 80
bytes in each process."""

_BYTES_MAX = 128 << 20
"""The same of sources of more bytes, if their keys may be long."""


@contextmanager
def candidates(
    job: Job, plan: MergePlan, target: DataFrame, source: DataFrame, *, cheap: bool
) -> Iterator[tuple[DataFrame, DataFrame]]:
    """The rows of the target, without most or all that no source row can match, and the source.

    A source of which a second look is ``cheap`` stays where it is. Otherwise its rows are computed
    once, moved by their keys. If some are lost with an executor, those computed in their place must
    have the same keys (`moved`).
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    names = _key_names(plan, source)
    if not names or java_classes(source.sparkSession) is None:
        yield target, source
        return
    pairs = [(key.target, name) for key, name in zip(plan.keys, names, strict=True)]
    alike = _hash_alike(target, source, pairs)
    if cheap and alike:
        yield _looked_at_twice(target, source, pairs)
        return
    with moved(source, None, [F.col(quote(name)) for name in names]) as there:
        yield _narrowed(job, target, there, pairs, alike=alike), there.frame


def _looked_at_twice(
    target: DataFrame, source: DataFrame, pairs: Sequence[tuple[str, str]]
) -> tuple[DataFrame, DataFrame]:
    """`candidates` for a source that the join reads again.

    Its files may have been replaced meanwhile. A row of a key that was not there before might not
    find its match, so it is an error.
    """
    with clear_errors():
        if source.count() > _HASHES_MAX:
            return target, source
    words = _words_of(source, pairs)
    if words is None:
        return target, source
    ours = _may_be_in(words, target, [column for column, _ in pairs])
    theirs = _may_be_in(words, source, [name for _, name in pairs])
    if ours is None or theirs is None:
        return target, source
    return target.where(ours), source.where(_or_error(theirs))


def _or_error(known: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    return F.when(known, True).otherwise(F.raise_error(F.lit(SOURCE_CHANGED)).cast("boolean"))


def _narrowed(
    job: Job,
    target: DataFrame,
    source: MovedRows,
    pairs: Sequence[tuple[str, str]],
    *,
    alike: bool,
) -> DataFrame:
    """The rows of the target, for a source whose rows have been moved and counted."""
    if source.rows is None:
        return target
    if source.rows <= _HASHES_MAX and alike:
        words = _words_of(source.frame, pairs)
        if words is None:  # nor would Spark broadcast the keys
            return target
        found = _may_be_in(words, target, [column for column, _ in pairs])
        if found is not None:
            return target.where(found)
    return _by_join(job, target, source.frame, pairs) if _are_few(source, pairs) else target


def _hash_alike(target: DataFrame, source: DataFrame, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether equal keys have one hash."""
    ours = {field.name: field for field in target.schema}
    theirs = {field.name: field for field in source.schema}
    if any(column not in ours for column, _ in pairs):
        return False
    return all(have_one_hash(ours[column], theirs[name]) for column, name in pairs)


def _words_of(source: DataFrame, pairs: Sequence[tuple[str, str]]) -> NDArray[np.uint64] | None:
    """The `key_words` of the source's keys; None if Spark refuses to bring so many hashes."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    with clear_errors():
        hashes = collect_all(source.select(F.xxhash64(*(F.col(quote(name)) for _, name in pairs))))
    return None if hashes is None else key_words(hashes.column(0).to_numpy())


def _may_be_in(
    words: NDArray[np.uint64], frame: DataFrame, columns: Sequence[str]
) -> Column | None:
    """Whether a row's values in the columns may be one of the keys that ``words`` stand for.

    None if Spark's classes cannot be reached.
    """
    names = ", ".join(map(quote, columns))
    with clear_errors():
        return may_be_key(frame.sparkSession, words, f"xxhash64({names})")


def _by_join(
    job: Job, target: DataFrame, source: DataFrame, pairs: Sequence[tuple[str, str]]
) -> DataFrame:
    """The rows of the target whose keys are in the source."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    keys = source.select(*(quote(name) for name in dict.fromkeys(name for _, name in pairs)))
    job.inputs |= {_TARGET.name: target, _KEYS.name: F.broadcast(keys)}
    on = " AND ".join(f"t.{quote(ours)} = s.{quote(name)}" for ours, name in pairs)
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


def _are_few(source: MovedRows, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether each process can hold the keys, as far as Spark has counted the rows."""
    from pyspark.sql import types  # noqa: PLC0415

    if source.rows is None or source.bytes is None or source.rows > _ROWS_MAX:
        return False
    short = (types.NumericType, types.DateType, types.TimestampType, types.BooleanType)
    are_short = all(isinstance(source.frame.schema[key].dataType, short) for _, key in pairs)
    return are_short or source.bytes <= _BYTES_MAX
