"""The merge of files of text: their lines are those that readers see in each of them."""

from pathlib import Path

import pytest

from acidsql.engines.local.rows_merge import RowsMerge
from acidsql.engines.row_files import RowFormat
from acidsql.model.ids import BucketId
from acidsql.model.table import FileFormat
from tests.unit.engines.tables import STORAGE, columns

MARK = b"\xef\xbb\xbf"
TEXT = RowFormat(columns("v string"), FileFormat.TEXT, "none")


@pytest.mark.parametrize(
    ("contents", "merged"),
    [
        ([b"a\n", b"b\n"], b"a\nb\n"),
        ([b"a", b"b"], b"a\nb\n"),
        # Without a line feed in between, the line feed of the second file would end "a".
        ([b"a\r", b"\nb\r"], b"a\r\n\nb\r\n"),
        ([b"a\r\n", b"\r\nb"], b"a\r\n\r\nb\n"),
        # A mark in the middle would be a part of the value behind it.
        ([MARK + b"1\n", MARK + b"2\n", MARK * 2 + b"3"], MARK + b"1\n2\n" + MARK + b"3\n"),
        # No line, and an empty one.
        ([MARK, b"1\n", MARK, MARK + b"\n"], b"1\n\n"),
    ],
)
def test_lines(tmp_path: Path, contents: list[bytes], merged: bytes) -> None:
    paths = [str(tmp_path / f"old_{number}") for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        Path(path).write_bytes(content)
    merge = RowsMerge(str(tmp_path), BucketId(0), TEXT, tuple(paths), 9)
    assert merge.run(STORAGE, "000000_0")
    assert (tmp_path / "000000_0").read_bytes() == merged
