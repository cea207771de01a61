"""Which rows are equal in some columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def distinct_rows(
    columns: Sequence[pa.Array[Any]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of rows that differ, and for each row which of these it is equal to.

    A null is equal to a null. The rows are numbered anew after each column, so that the numbers
    stay below the count of rows times that of values, however many columns there are.

    >>> first, groups = distinct_rows([pa.array([1, 2, 1]), pa.array(["a", "a", "a"])])
    >>> first.tolist(), groups.tolist()
    ([0, 1], [0, 1, 0])
    """
    groups = np.zeros(len(columns[0]), np.int64)
    first = groups[:1]
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        codes = groups * max(1, len(encoded.dictionary)) + encoded.indices.to_numpy()
        _, first, groups = np.unique(codes, return_index=True, return_inverse=True)
    return first, groups
