"""Clauses of a MERGE that ask for the source alone, where the driver has the source's rows.

Feeds of changes say in a column what is to be done: ``WHEN MATCHED AND s.op = 'D' THEN DELETE``.
Such a column has few values, and rows with the same values get the same answer. So Spark is asked
once for each, over rows that the driver hands it, which takes no job.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from acidsql.engines.changes import LEG
from acidsql.engines.distinct_rows import distinct_rows
from acidsql.engines.spark.job import Job, collect_all
from acidsql.engines.spark.local_frame import local_frame
from acidsql.engines.spark.merge_pairs import SOURCE
from acidsql.engines.spark.query_plan import is_row_by_row
from acidsql.engines.spark.source_columns import SourceColumns
from acidsql.engines.spark.values import boolean
from acidsql.model.names import quote_identifier as quote
from acidsql.plans.merge import Leg
from acidsql.plans.sql_text import SqlText

_TOLD, _PLACE = "__acidsql_told", "__acidsql_place"


def acting_legs(
    job: Job,
    source: SourceColumns,
    legs: Sequence[Leg],
    rows: pa.Table,
    told: NDArray[np.int64] | None = None,
) -> NDArray[np.int64] | None:
    """The number of the leg that acts on each of the source's ``rows``; -1 where none acts.

    ``told`` are, for each row, the numbers of the first leg that holds among those that ask for the
    target; it may be left out where there are none. None if a condition asks for more, or calls a
    function of the session's own, which may be another one each time. AnalysisError for a mistake
    in a condition.
    """
    from pyspark.sql.types import LongType, StructField, StructType  # noqa: PLC0415

    fields = source.asked_by(legs)
    if fields is None:
        return None
    if told is None and legs[0].condition is None:
        return np.zeros(rows.num_rows, np.int64)
    columns = [rows.column(field.name).combine_chunks() for field in fields]
    told = np.full(rows.num_rows, -1) if told is None else told
    first, groups = distinct_rows([pa.array(told), *columns])
    values = pa.table(
        [*(c.take(first) for c in columns), pa.array(told[first]), pa.array(np.arange(len(first)))],
        [*(field.name for field in fields), _TOLD, _PLACE],
    )
    added = [StructField(name, LongType()) for name in (_TOLD, _PLACE)]
    job.inputs[SOURCE.name] = local_frame(job.spark, values, StructType([*fields, *added]))
    frame = job.sql(_query(source.plan.source_alias, legs))
    found = collect_all(frame) if is_row_by_row(frame) else None
    if found is None:
        return None
    acting = np.full(len(first), -1)
    acting[found.column(_PLACE).to_numpy()] = found.column(LEG).to_numpy()
    return acting[groups]


def _query(alias: str, legs: Sequence[Leg]) -> SqlText:
    """The first leg that holds, in the order of the legs. A condition is asked behind others."""
    whens = [
        SqlText.of(" WHEN ", _condition(leg, number), f" THEN {number}")
        for number, leg in enumerate(legs)
    ]
    chosen = SqlText.of("CASE", *whens, f" ELSE -1 END AS {LEG}")
    return SqlText.of(f"SELECT {_PLACE}, ", chosen, " FROM ", SOURCE, f" AS {quote(alias)}")


def _condition(leg: Leg, number: int) -> SqlText:
    if leg.condition is None:
        return SqlText.of("true")
    if leg.asks_target:
        return SqlText.of(f"{_TOLD} = {number}")
    return SqlText.of("(", boolean(leg.condition), "\n)")
