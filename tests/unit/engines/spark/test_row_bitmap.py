"""The bits of a bitmap are the deleted rows, and take little memory.

How Spark looks them up is in `property/test_row_bitmap.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings

from acidsql.engines.spark.deleted_words import DeletedWords, PackedWords
from acidsql.engines.spark.key_packing import WORD_BITS
from acidsql.engines.spark.row_bitmap import DIRECTORY_BYTES_MIN, RowBitmap
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.row_id import encode_bucket
from acidsql.orc.keys import RowIds
from tests.unit.engines.spark.test_key_packing import Key, deleted_rows, packed_by_sqlite


def packed_words(keys: Sequence[Key]) -> PackedWords:
    """The words of rows in any order."""
    return PackedWords.of(
        DeletedWords.together(
            [DeletedWords.of(key[0], RowIds(*np.array([key[1:]], np.int64).T)) for key in keys]
        )
    )


def set_bits(bitmap: RowBitmap) -> list[int]:
    """The packed keys whose bits are set."""
    size = 1 << bitmap.page_bits + WORD_BITS
    bits = np.unpackbits(bitmap.words.view(np.uint8), bitorder="little").reshape(-1, size)
    assert not bits[0].any()
    page, at = np.nonzero(bits[1:])
    return [int(key) for key in bitmap.pages[page] * size + at]


@settings(deadline=None)
@given(deleted_rows())
def test_a_bit_is_set_for_each_deleted_row(deleted: list[Key]) -> None:
    packed = packed_words([*deleted, *deleted[:3]])
    bitmap = RowBitmap.of(packed)
    assert np.all(np.diff(bitmap.pages) > 0)
    assert set_bits(bitmap) == sorted(packed_by_sqlite(packed.packing, deleted))


def bitmap_of(stretches: int, row_numbers: np.ndarray) -> RowBitmap:
    """The same rows of each of the first buckets of 12 writes."""
    parts = []
    for stretch in range(stretches):
        bucket = encode_bucket(BucketId(stretch // 12), StatementId(0))
        each = np.full(len(row_numbers), 1 + stretch % 12), np.full(len(row_numbers), bucket)
        parts.append(DeletedWords.of(0, RowIds(*each, row_numbers)))
    return RowBitmap.of(PackedWords.of(DeletedWords.together(parts)))


@pytest.mark.parametrize("every", [1, 3, 10])
def test_many_rows_take_about_a_bit_for_each_row_of_the_table(every: int) -> None:
    rows, stretches = 50_000, 32 * 12
    assert bitmap_of(stretches, np.arange(0, rows, every)).size < 1.1 * rows * stretches / 8


def test_few_rows_take_16_bytes_each() -> None:
    few = np.arange(0, 1 << 40, 1 << 33)
    found = bitmap_of(32 * 12, few)
    assert not found.has_directory
    assert found.size == 16 * len(few) * 32 * 12 + 8


@pytest.mark.parametrize("rows", [1_000, 1_000_000, 20_000_000])
def test_a_few_rows_in_a_small_table_have_a_directory(rows: int) -> None:
    found = bitmap_of(4, np.arange(0, rows, rows // 10))
    assert found.has_directory
    assert found.size <= DIRECTORY_BYTES_MIN


def test_equal_bits_have_equal_digests() -> None:
    a, b = [(0, 1, 1 << 29, 5), (0, 2, 1 << 29, 70)], [(0, 1, 1 << 29, 5), (0, 2, 1 << 29, 71)]
    digests = [RowBitmap.of(packed_words(keys)).digest() for keys in (a, a[::-1], b)]
    assert digests[0] == digests[1] != digests[2]


def test_without_a_gateway_there_are_none() -> None:
    made = RowBitmap.of(packed_words([(0, 1, 1 << 29, 5)]))
    assert made.is_unset(object(), partitioned=False) is None  # type: ignore[arg-type]
