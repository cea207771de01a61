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

from acidsql.engines.spark.errors import clear_errors
from acidsql.engines.spark.gateway import java_classes
from acidsql.engines.spark.job import Job, collect_all
from acidsql.engines.spark.key_bits import key_words, may_be_key
from acidsql.engines.spark.key_hash import have_one_hash
from acidsql.engines.spark.moved import MovedRows, moved
from acidsql.errors import AnalysisError
from acidsql.model.names import quote_identifier as quote
from acidsql.plans.merge import MergePlan
from acidsql.plans.sql_text import InputSource, SqlText

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    """The rows of the target, without most or all rows that no row of the source can match."""
    names = _key_names(plan, source.frame)
    if not names or source.rows is None:
        return target
    pairs = [(key.target, name) for key, name in zip(plan.keys, names, strict=True)]
    if source.rows <= _HASHES_MAX and _hash_alike(target, source.frame, pairs):
        found = _by_hashes(target, source.frame, pairs)
        if found is not None:
            return found
    return _by_join(job, target, source.frame, pairs) if _are_few(source, names) else target


def _hash_alike(target: DataFrame, source: DataFrame, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether equal keys have one hash."""
    ours = {field.name: field for field in target.schema}
    theirs = {field.name: field for field in source.schema}
    if any(column not in ours for column, _ in pairs):
        return False
    return all(have_one_hash(ours[column], theirs[name]) for column, name in pairs)


def _by_hashes(
    target: DataFrame, source: DataFrame, pairs: Sequence[tuple[str, str]]
) -> DataFrame | None:
    """The rows of the target whose keys may be in the source, by their hash.

    All of its rows if Spark refuses to bring so many hashes. None if its classes cannot be reached.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415

    with clear_errors():
        keys = source.select(F.xxhash64(*(F.col(quote(name)) for _, name in pairs)))
        hashes = collect_all(keys)
        if hashes is None:  # nor would Spark broadcast the keys
            return target
        words = key_words(hashes.column(0).to_numpy())
        columns = ", ".join(quote(name) for name, _ in pairs)
        found = may_be_key(source.sparkSession, words, f"xxhash64({columns})")
        return None if found is None else target.where(found)


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


def _are_few(source: MovedRows, keys: Sequence[str]) -> bool:
    """Whether each process can hold the keys, as far as Spark has counted the rows."""
    from pyspark.sql import types  # noqa: PLC0415

    if source.rows is None or source.bytes is None or source.rows > _ROWS_MAX:
        return False
    short = (types.NumericType, types.DateType, types.TimestampType, types.BooleanType)
    are_short = all(isinstance(source.frame.schema[key].dataType, short) for key in keys)
    return are_short or source.bytes <= _BYTES_MAX
