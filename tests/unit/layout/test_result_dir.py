"""Which directories INSERT OVERWRITE DIRECTORY may fill, by the names in them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from acidsql.layout.result_dir import attempt_name, mark_name, result_dir, rows_name

TOKEN = 32 * "a"
MARK = mark_name(3, TOKEN)
ATTEMPT = attempt_name(4, TOKEN)


@pytest.mark.parametrize(
    ("files", "directories"),
    [
        ([], []),
        ([MARK], []),
        ([MARK, rows_name(0, 3), rows_name(1_000_000, 2)], []),
        ([MARK, rows_name(0, 3), f"{ATTEMPT}/000000_0"], [ATTEMPT]),
        ([f"{ATTEMPT}/_attempt_x", mark_name(1, TOKEN), MARK], [ATTEMPT]),
        # The attempt was removed between the two listings.
        ([f"{ATTEMPT}/000000_0"], []),
        ([], [ATTEMPT]),
    ],
)
def test_what_such_statements_have_left_may_be_replaced(
    files: Sequence[str], directories: Sequence[str]
) -> None:
    found = result_dir(files, directories)
    assert found.foreign is None
    assert found.generation == (3 if MARK in files else 0)
    assert set(found.entries) == {f.partition("/")[0] for f in files} | set(directories)


@pytest.mark.parametrize(
    ("files", "directories", "foreign"),
    [
        (["mine.txt"], [], "mine.txt"),
        ([MARK, ".mine"], [], ".mine"),
        (["rows_000000_1"], [], "rows_000000_1"),  # no mark
        ([MARK, "000000_0"], [], "000000_0"),  # Hive's name
        ([MARK, "rows_000000_4"], [], "rows_000000_4"),  # a generation to come
        ([MARK, "rows_000000_0"], [], "rows_000000_0"),
        ([MARK, "rows_00000_3"], [], "rows_00000_3"),
        ([MARK, "rows_000000_3.gz"], [], "rows_000000_3.gz"),
        ([MARK], ["sub"], "sub/"),
        ([MARK], ["rows_000000_3"], "rows_000000_3/"),
        ([MARK, "rows_000000_3/x"], ["rows_000000_3"], "rows_000000_3/"),
        ([MARK], [MARK], f"{MARK}/"),
        ([MARK, f"sub/{MARK}"], ["sub"], "sub/"),
        ([ATTEMPT], [], ATTEMPT),
        (["_acidsql_result_0_" + TOKEN], [], "_acidsql_result_0_" + TOKEN),
        (["_acidsql_result_1_x"], [], "_acidsql_result_1_x"),
    ],
)
def test_anything_else_is_foreign(
    files: Sequence[str], directories: Sequence[str], foreign: str
) -> None:
    assert result_dir(files, directories).foreign == foreign
