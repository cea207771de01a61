"""Partitions of rows that carry the texts of their partition values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from acidsql.engines.distinct_rows import distinct_rows
from acidsql.engines.target import TABLE_ITSELF
from acidsql.model.names import PartitionName


def partition_column(index: int) -> str:
    """The name under which a partition value's text travels with the row."""
    return f"__acidsql_partition_{index}"


def partition_codes(rows: pa.Table, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """The number of each row's partition, and the text of each partition.

    Partitions are numbered in the order of their first rows, so that sorted rows stay sorted. An
    empty value is null.
    """
    if not names:
        return np.zeros(rows.num_rows, np.int64), [TABLE_ITSELF]
    columns = [
        rows.column(partition_column(index)).combine_chunks().cast(pa.string())
        for index in range(len(names))
    ]
    first, groups = distinct_rows(columns)
    texts: dict[str, int] = {}
    numbers = np.zeros(len(first), np.int64)
    for at in np.argsort(first):
        values = [column[int(first[at])].as_py() for column in columns]
        text = str(PartitionName.of(list(zip(names, values, strict=True))))
        numbers[at] = texts.setdefault(text, len(texts))
    return numbers[groups], list(texts)
