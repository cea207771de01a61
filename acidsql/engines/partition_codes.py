"""Partitions of rows that carry the texts of their partition values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

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
    codes = np.zeros(rows.num_rows, np.int64)
    dictionaries = []
    for index in range(len(names)):
        column = rows.column(partition_column(index)).combine_chunks().cast(pa.string())
        encoded = column.dictionary_encode(null_encoding="encode")
        dictionaries.append(encoded.dictionary.to_pylist())
        codes = codes * max(1, len(dictionaries[-1])) + encoded.indices.to_numpy()
    found, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    texts: dict[str, int] = {}
    numbers = np.zeros(len(found), np.int64)
    for at in np.argsort(first):
        text = _text(int(found[at]), names, dictionaries)
        numbers[at] = texts.setdefault(text, len(texts))
    return numbers[inverse], list(texts)


def _text(code: int, names: Sequence[str], dictionaries: Sequence[Sequence[str | None]]) -> str:
    values: list[tuple[str, str | None]] = []
    for name, dictionary in zip(reversed(names), reversed(dictionaries), strict=True):
        code, index = divmod(code, max(1, len(dictionary)))
        values.insert(0, (name, dictionary[index]))
    return str(PartitionName.of(values))
