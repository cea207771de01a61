"""What the driver reads of delete files: each row id that the snapshot sees is a bit of a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings

from acidsql.backends.storage.local import LocalStorage
from acidsql.engines.selection import SelectedFile
from acidsql.engines.spark import deleted_words
from acidsql.engines.spark.deleted_words import (
    DeletedWords,
    PackedWords,
    TooManyDeletesError,
    read_deleted_words,
)
from acidsql.engines.spark.file_contents import FileContents
from acidsql.engines.spark.key_packing import WORD_BITS, WORD_COLUMNS
from acidsql.errors import CorruptFileError
from acidsql.model.ids import BucketId, WriteId
from acidsql.model.row_id import RowId
from acidsql.orc.keys import RowIds
from tests.unit.engines.spark.test_key_packing import Key, deleted_rows
from tests.unit.engines.spark.test_row_bitmap import packed_words
from tests.unit.orc.events import P0, P1, delete_file, insert_file, seen

ALL = seen(99)


def selected(path: object, partition: int = 0, *, row_filter: bool = False) -> SelectedFile:
    size = Path(str(path)).stat().st_size
    return SelectedFile(partition, str(path), size, BucketId(0), row_filter)


def rows(packed: PackedWords | None) -> list[Key]:
    """The rows whose bits are set, sorted."""
    assert packed is not None
    columns = [packed.words.columns[name].tolist() for name in WORD_COLUMNS]
    return sorted(
        (partition, write_id, bucket, (word << WORD_BITS) + bit)
        for partition, write_id, bucket, word, bits in zip(
            *columns, packed.words.bits.tolist(), strict=True
        )
        for bit in range(64)
        if bits >> bit & 1
    )


def read(files: Sequence[SelectedFile]) -> list[Key]:
    return rows(read_deleted_words(files, ALL, LocalStorage(), FileContents()))


@settings(deadline=None)
@given(deleted_rows())
def test_words_are_the_rows(deleted: list[Key]) -> None:
    packed = packed_words([*deleted, *deleted[-3:]])
    assert rows(packed) == sorted(deleted)
    places = set(zip(*(packed.words.columns[n].tolist() for n in WORD_COLUMNS), strict=True))
    assert len(places) == len(packed.words)


def test_rows_of_a_word_are_one_word_from_the_start() -> None:
    words = DeletedWords.of(0, RowIds.consecutive(RowId(WriteId(1), P0, 0), 1000))
    assert len(words) == 1000 // 64 + 1


def test_rows_of_many_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some at a time, whatever partition, write, bucket and row they are of."""
    monkeypatch.setattr(deleted_words, "_FILES_TOGETHER", 2)
    deletes = [
        (0, [(1, P0, 0), (1, P0, 70), (1, P1, 70), (2, P0, 5)]),
        (1, [(1, P0, 1), (1, P1, 70), (3, P0, 1 << 40)]),
        (0, [(1, P0, 1), (1, P0, 70)]),
        (0, [(1, P0, 2), (3, P1, 6)]),
        (1, [(1, P0, 1)]),
    ]
    files = [
        selected(delete_file(tmp_path / f"d{at}", 4 + at, ids).source, partition)
        for at, (partition, ids) in enumerate(deletes)
    ]
    assert read(files) == sorted({(p, *row_id) for p, ids in deletes for row_id in ids})


def test_events_that_the_snapshot_does_not_see_delete_nothing(tmp_path: Path) -> None:
    path = delete_file(tmp_path / "d", 5, [(1, P0, 0), (1, P0, 1)]).source
    file = selected(path, row_filter=True)
    read_again = partial(
        read_deleted_words, [file], storage=LocalStorage(), contents=FileContents()
    )
    assert read_again(write_ids=seen(4)) is None
    assert rows(read_again(write_ids=seen(6, {3}))) == [(0, 1, P0, 0), (0, 1, P0, 1)]
    assert read_again(write_ids=seen(6, {5})) is None


def test_a_file_is_known_again_by_its_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = selected(delete_file(tmp_path / "d", 5, [(1, P0, 0), (1, P0, 100)]).source)
    contents = FileContents()
    read_again = partial(read_deleted_words, storage=LocalStorage(), contents=contents)
    assert rows(read_again([file], ALL)) == [(0, 1, P0, 0), (0, 1, P0, 100)]
    with monkeypatch.context() as patch:
        patch.setattr(deleted_words, "open_deletes", None)
        assert rows(read_again([replace(file, partition=3)], ALL)) == [
            (3, 1, P0, 0),
            (3, 1, P0, 100),
        ]
        assert read_again([replace(file, row_filter=True)], seen(4)) is None
    delete_file(tmp_path / "d", 5, [(1, P0, 7)])
    assert rows(read_again([file], ALL)) == [(0, 1, P0, 7)]


@pytest.mark.parametrize("limit", ["FILE_BYTES_MAX", "FILE_ROWS_MAX"])
def test_files_that_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(deleted_words, limit, 1)
    file = selected(delete_file(tmp_path / "d", 5, [(1, P0, 0), (1, P0, 100)]).source, 2)
    assert read([file]) == [(2, 1, P0, 0), (2, 1, P0, 100)]
    hidden = replace(file, row_filter=True)
    assert read_deleted_words([hidden], seen(4), LocalStorage(), FileContents()) is None


def test_words_count_once_towards_the_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deleted_words, "WORDS_MAX", 2)
    monkeypatch.setattr(deleted_words, "_FILES_TOGETHER", 1)
    same = [
        selected(delete_file(tmp_path / f"d{row}", 2 + row, [(1, P0, row), (1, P1, row)]).source)
        for row in range(5)
    ]
    assert len(read(same)) == 10
    other = selected(delete_file(tmp_path / "d", 9, [(1, P0, 64)]).source)
    with pytest.raises(TooManyDeletesError):
        read([*same, other])


def test_a_long_stripe_is_read_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [(1 + row // 90, P0, row) for row in range(0, 200, 2)]
    file = selected(delete_file(tmp_path / "d", 9, ids).source)
    whole = read([file])
    monkeypatch.setattr(deleted_words, "FILE_BYTES_MAX", 0)
    for rows in (1, 7, 64, 99, 100):
        monkeypatch.setattr(deleted_words, "BATCH_ROWS", rows)
        assert read([file]) == whole


def test_a_file_with_too_much_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [(1, P0, row) for row in range(0, 640, 64)]
    file = selected(delete_file(tmp_path / "d", 9, ids).source)
    monkeypatch.setattr(deleted_words, "FILE_BYTES_MAX", 0)
    monkeypatch.setattr(deleted_words, "BATCH_ROWS", 2)
    monkeypatch.setattr(deleted_words, "WORDS_MAX", 3)
    with pytest.raises(TooManyDeletesError):
        read([file])
    monkeypatch.setattr(deleted_words, "WORDS_MAX", 10)
    assert len(read([file])) == 10


def test_inserts_delete_nothing(tmp_path: Path) -> None:
    path = insert_file(tmp_path / "i", 1, [(1, 10)]).source
    with pytest.raises(CorruptFileError, match="holds inserts where deletes belong"):
        read([selected(path)])
