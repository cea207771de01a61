import re
from typing import Any

import pytest

from acidsql.errors import StorageError
from acidsql.layout.acid_state import AcidState, acid_state
from acidsql.layout.dir_names import parse_directory
from acidsql.layout.listing import DataFile, ListedFile
from acidsql.layout.obsolete import obsolete
from acidsql.model.snapshot import Range, ValidTxnList, ValidWriteIdList
from acidsql.model.table import TableKind

NONE_OPEN = 9223372036854775807
COMPACTED = '{"thisFileVersion":"0","dataFormat":"compacted"}'


def snapshot(mark: int, opened: set[int] = frozenset(), aborted: set[int] = frozenset()):  # type: ignore[no-untyped-def,assignment]
    return ValidWriteIdList("db.t", mark, frozenset(opened), frozenset(aborted))


def listing(text: str) -> list[ListedFile]:
    """A listing with one bucket file in each directory named."""
    return [ListedFile(f"{name}/bucket_00000", 100) for name in text.split()]


def chosen(state: AcidState) -> str:
    """Base, deltas and delete deltas in their one reading order."""
    deltas = sorted([*state.deltas, *state.delete_deltas], key=_reading_order)
    base = [state.base] if state.base else []
    return " ".join(d.path for d in [*base, *deltas])


def _reading_order(selected):  # type: ignore[no-untyped-def]
    d = selected.directory
    statement = -1 if d.statement_id is None else d.statement_id
    return d.min_write_id, -d.max_write_id, statement, selected.path


MANY = (
    "base_5 delta_6_6_0 delta_6_6_1 delete_delta_6_6_1 delta_7_9 delete_delta_7_9"
    " delta_8_8_0 delta_10_10_0 delete_delta_4_4_0"
)
VISIBILITY = "base_5_v20 base_8_v30 delta_6_6_0 delta_7_7_0 delta_8_8_0"


def test_base_wide_deltas_and_statements() -> None:
    state = acid_state(listing(MANY), snapshot(10))
    assert chosen(state) == (
        "base_5 delta_6_6_0 delete_delta_6_6_1 delta_6_6_1 delete_delta_7_9 delta_7_9 delta_10_10_0"
    )
    assert state.obsolete == ("delete_delta_4_4_0", "delta_8_8_0")


def test_base_above_an_open_write_id_is_left_alone() -> None:
    state = acid_state(listing(VISIBILITY), snapshot(8, {7}))
    assert chosen(state) == "base_5_v20 delta_6_6_0 delta_8_8_0"
    assert state.obsolete == ()


def test_newest_base_makes_the_rest_obsolete() -> None:
    state = acid_state(listing(VISIBILITY), snapshot(8))
    assert chosen(state) == "base_8_v30"
    assert set(state.obsolete) == set(VISIBILITY.split()) - {"base_8_v30"}


def test_not_enough_history() -> None:
    with pytest.raises(StorageError, match="not enough history") as caught:
        acid_state(listing("base_8_v30 delta_9_9_0"), snapshot(9, {7}))
    assert caught.value.code == 10327


def test_aborted_overwrite() -> None:
    files = listing("base_2 base_4 delta_1_1_0 delta_3_3_0 delta_5_5_0")
    state = acid_state(files, snapshot(5, aborted={4}))
    assert chosen(state) == "base_2 delta_3_3_0 delta_5_5_0"
    assert state.aborted == ("base_4",)
    assert state.obsolete == ("delta_1_1_0",)


def test_ranges_seen_in_part_need_a_row_filter() -> None:
    state = acid_state(listing("delta_1_10 delta_11_20 delta_20_20_1"), snapshot(20, {5}, {12}))
    assert [(d.path, d.needs_row_filter) for d in state.deltas] == [
        ("delta_1_10", True),
        ("delta_11_20", True),
    ]


def test_a_writer_of_the_format_with_split_updates_says_so() -> None:
    told = ("base_5", "delta_7_7_0", "delete_delta_7_7_0")
    files = [
        *listing("base_5 delta_6_6_0 delta_7_7_0 delete_delta_7_7_0 delta_8_8_0"),
        *(ListedFile(f"{name}/_orc_acid_version", 1) for name in told),
        ListedFile("delta_8_8_0/HIVE_UNION_SUBDIR_1/_orc_acid_version", 1),
    ]
    state = acid_state(files, snapshot(10))
    assert state.base is not None
    found = [state.base, *state.deltas, *state.delete_deltas]
    assert [d.path for d in found if d.only_inserts] == ["base_5", "delta_7_7_0"]


def test_uncommitted_compaction_is_ignored_then_used() -> None:
    files = listing("delta_1_3_v21 delete_delta_1_3_v21 delta_1_1_0 delete_delta_2_2_0 delta_3_3_0")
    before = acid_state(files, snapshot(3), ValidTxnList(21, frozenset({21})))
    assert chosen(before) == "delta_1_1_0 delete_delta_2_2_0 delta_3_3_0"
    assert before.obsolete == before.aborted == ()
    after = acid_state(files, snapshot(3), ValidTxnList(21))
    assert chosen(after) == "delete_delta_1_3_v21 delta_1_3_v21"
    assert after.obsolete == ("delete_delta_2_2_0", "delta_1_1_0", "delta_3_3_0")


def test_aborted_compaction_goes_to_the_cleaner() -> None:
    files = listing("base_3_v21 delta_1_3_v21 delta_1_1_0")
    state = acid_state(files, snapshot(3), ValidTxnList(22, aborted=frozenset({21})))
    assert chosen(state) == "delta_1_1_0"
    assert state.aborted == ("base_3_v21", "delta_1_3_v21")


def test_minor_compaction_of_one_write_id() -> None:
    files = listing("delete_delta_5_5_v30 delta_5_5_v30 delta_5_5_0 delta_5_5_1 delete_delta_5_5_1")
    state = acid_state(files, snapshot(5))
    assert chosen(state) == "delete_delta_5_5_v30 delta_5_5_v30"
    assert state.obsolete == ("delete_delta_5_5_1", "delta_5_5_0", "delta_5_5_1")


def test_base_and_a_later_delete() -> None:
    files = listing(
        "delta_0000001_0000001_0000 delta_0000002_0000002_0000 delta_0000001_0000002"
        " base_0000002 delete_delta_0000003_0000003_0000"
    )
    assert chosen(acid_state(files, snapshot(3))) == (
        "base_0000002 delete_delta_0000003_0000003_0000"
    )


@pytest.mark.parametrize("text", [MANY, VISIBILITY])
def test_order_of_the_listing_does_not_matter(text: str) -> None:
    files = listing(text)
    assert acid_state(files[::-1], snapshot(10)) == acid_state(files, snapshot(10))


def test_overwrite_of_the_lowest_open_write_id_is_not_read() -> None:
    state = acid_state(listing("base_4 delta_3_3_0"), snapshot(5, {4}))
    assert chosen(state) == "delta_3_3_0"
    assert state.obsolete == state.aborted == ()


def test_compacted_base_wins_a_tie() -> None:
    state = acid_state(listing("base_5 base_5_v9"), snapshot(5))
    assert chosen(state) == "base_5_v9"
    assert state.obsolete == ("base_5",)


@pytest.mark.parametrize("text", [COMPACTED, "compacted"])
def test_marker_makes_a_base_compacted(text: str) -> None:
    files = listing("base_4 delta_5_5_0")
    # Aborted write ids do not matter to a compacted base; an overwrite of one is not read.
    lists = snapshot(5, aborted={4})
    assert chosen(acid_state(files, lists, markers={"base_4": text})) == "base_4 delta_5_5_0"
    truncated = {"base_4": COMPACTED.replace("compacted", "truncated")}
    assert chosen(acid_state(files, lists, markers=truncated)) == "delta_5_5_0"


def test_marker_must_be_json() -> None:
    with pytest.raises(StorageError):
        acid_state(listing("base_4"), snapshot(5), markers={"base_4": "{"})


def test_unusable_overwrite_alone_is_no_error() -> None:
    assert acid_state(listing("base_8"), snapshot(5)) == AcidState()


def test_originals_until_there_is_a_base() -> None:
    names = [
        "000000_0",
        "000001_0_copy_2",
        "000001_0_copy_10",
        "000001_0",
        "HIVE_UNION_SUBDIR_1/000000_0",
        "_tmp.1/000000_0",
        ".hidden",
        "000002_0",
    ]
    files = [ListedFile(n, 0 if n == "000002_0" else 10) for n in names]
    state = acid_state([*files, *listing("delta_10000001_10000001_0")], snapshot(10000001))
    assert [f.path for f in state.originals] == [
        "000000_0",
        "000001_0",
        "000001_0_copy_10",
        "000001_0_copy_2",
        "HIVE_UNION_SUBDIR_1/000000_0",
    ]
    assert [f.bucket_id for f in state.originals] == [0, 1, 1, 1, 0]
    based = acid_state([*files, *listing("base_-9223372036854775808")], snapshot(5, {1}))
    assert based.originals == ()
    assert "000001_0_copy_10" in based.obsolete
    assert chosen(based) == "base_-9223372036854775808"


def test_files_that_count() -> None:
    files = [
        ListedFile("delta_1_1_0/bucket_00001", 7),
        ListedFile("delta_1_1_0/bucket_00000_0", 9),
        ListedFile("delta_1_1_0/_orc_acid_version", 1),
        ListedFile("delta_1_1_0/part-00000.orc", 9),
        ListedFile("delta_1_1_0/bucket_00002", 0),
        ListedFile("delta_2_3/bucket_00000", 5),
        ListedFile("delta_2_3/bucket_00000_flush_length", 8),
    ]
    first, second = acid_state(files, snapshot(3)).deltas
    assert first.files == (
        DataFile("delta_1_1_0/bucket_00000_0", 9, 0),
        DataFile("delta_1_1_0/bucket_00001", 7, 1),
        DataFile("delta_1_1_0/bucket_00002", 0, 2),
    )
    side = "delta_2_3/bucket_00000_flush_length"
    assert second.files == (DataFile("delta_2_3/bucket_00000", 5, 0, side),)


def test_base_with_markers_only_is_seen_as_empty() -> None:
    files = [ListedFile("base_2/_orc_acid_version", 1), *listing("delta_1_1_0")]
    state = acid_state(files, snapshot(2))
    assert chosen(state) == "base_2"
    assert state.base is not None
    assert state.base.files == ()


def test_an_empty_file_of_events_is_not_passed_over() -> None:
    """Whoever skips inserts loses rows, and whoever skips deletes brings some back."""
    files = [
        ListedFile("base_1/bucket_00001", 0),
        ListedFile("delta_2_2_0/bucket_00000", 0),
        ListedFile("delete_delta_2_2_0/bucket_00000", 0),
        ListedFile("delete_delta_2_2_0/bucket_00001_0", 0),
    ]
    state = acid_state(files, snapshot(2))
    assert state.base is not None
    selected = (state.base, *state.deltas, *state.delete_deltas)
    assert [f.path for d in selected for f in d.files] == [f.path for f in files]


def test_an_empty_file_of_hives_is_passed_over() -> None:
    """Hive 3 leaves one for each bucket without rows in tables that become ACID later, Hive 4 where
    its vectorised writer of a bucketed table lost the rows.
    """
    files = [
        ListedFile("delta_2_2_0/bucket_00000_0", 0),
        ListedFile("000000_0", 0),
        ListedFile("000001_0", 5),
        ListedFile("delta_1_1_0/000000_0", 0),
        ListedFile("delta_1_1_0/000001_0", 5),
    ]
    state = acid_state(files, snapshot(2))
    assert state.deltas[1].files == ()
    assert [f.path for f in state.originals] == ["000001_0"]
    assert [f.path for f in state.deltas[0].files] == ["delta_1_1_0/000001_0"]


def test_raw_directories() -> None:
    files = [
        ListedFile("delta_1_1_0/000000_0", 5),
        ListedFile("delta_1_1_0/notes.txt", 5),
        ListedFile("base_1/000001_0", 5),
    ]
    state = acid_state(files[:2], snapshot(1))
    assert [(d.raw, [f.path for f in d.files]) for d in state.deltas] == [
        (True, ["delta_1_1_0/000000_0"])
    ]
    base = acid_state(files, snapshot(1)).base
    assert base is not None
    assert base.raw


def test_insert_only_reads_any_file_but_loose_ones() -> None:
    files = [
        ListedFile("delta_1_1_0/HIVE_UNION_SUBDIR_1/000000_0", 5),
        ListedFile("delta_1_1_0/000000_0.parquet", 5),
        ListedFile("000000_0", 5),
    ]
    state = acid_state(files, snapshot(1), kind=TableKind.INSERT_ONLY)
    assert [f.path for f in state.deltas[0].files] == [
        "delta_1_1_0/000000_0.parquet",
        "delta_1_1_0/HIVE_UNION_SUBDIR_1/000000_0",
    ]
    assert state.originals == ()


def test_compactor_leaves_a_delta_above_its_watermark() -> None:
    files = listing("delta_1_1_0 delta_2_2_0 delta_3_6 delta_4_4_0")
    lists = ValidWriteIdList.parse("db.t:8:5:5:2").for_compactor()
    state = acid_state(files, lists)
    assert chosen(state) == "delta_1_1_0 delta_4_4_0"
    assert state.aborted == ("delta_2_2_0",)


def test_snapshot_functions() -> None:
    lists = ValidWriteIdList.parse("db.t:8:5:5:3")
    assert [lists.is_valid(w) for w in (3, 5, 6, 9)] == [False, False, True, False]
    assert [lists.is_valid_base(w) for w in (4, 5)] == [True, False]
    ranges = [lists.range_valid(*r) for r in ((4, 5), (5, 5), (6, 10), (9, 10))]
    assert ranges == [Range.SOME, Range.NONE, Range.SOME, Range.NONE]
    compactor = lists.for_compactor()
    assert (compactor.high_watermark, compactor.is_valid(3)) == (4, False)
    assert compactor.range_valid(3, 3) is Range.ALL
    assert compactor.range_valid(4, 5) is Range.NONE


def test_a_minor_compaction_of_rows_that_do_not_say_whose_they_are() -> None:
    """An older snapshot reads what it was made of, as long as that is there."""
    files = listing("delta_1_1_0 delta_2_2_0 delta_3_3_0 delta_1_3 delta_4_4_0")

    def names(*lists: Any) -> tuple[str, ...]:
        return acid_state(files, snapshot(*lists), kind=TableKind.INSERT_ONLY).names

    assert names(2) == ("delta_1_1_0", "delta_2_2_0")
    assert names(4, {2}) == ("delta_1_1_0", "delta_3_3_0", "delta_4_4_0")
    assert names(4) == names(4, {5}, {2}) == ("delta_1_3", "delta_4_4_0")
    for left in ("delta_1_3", "delta_1_3 delta_3_3_0", "delta_1_3 delta_4_4_0"):
        files = listing(left)
        for lists in ((2,), (4, {2})):
            with pytest.raises(StorageError, match="not enough history"):
                names(*lists)


def test_obsolete_is_capped() -> None:
    files = listing("delta_1_1_0 delta_2_2_0 delta_1_2_v9 delta_3_3_0 base_3_v12 base_4")
    # A minor compaction up to 2 may be cleaned although a major one up to 3 is there already.
    assert obsolete(files, snapshot(2), ValidTxnList(11)) == ["delta_1_1_0", "delta_2_2_0"]
    everything = obsolete(files, snapshot(4))
    assert everything == sorted({f.path.split("/")[0] for f in files} - {"base_4"})


@pytest.mark.parametrize("later", ["delta_1_3", "base_3", "delta_1_2_v11"])
def test_a_later_compaction_makes_nothing_obsolete_for_an_earlier_one(later: str) -> None:
    """Readers may be open that have chosen from what was there before it."""
    files = listing(f"delta_1_1_0 delta_1_2 delta_3_3_0 {later}")
    assert obsolete(files, snapshot(2), ValidTxnList(9)) == ["delta_1_1_0"]


def test_a_minor_compaction_wrote_no_base() -> None:
    files = listing("delta_1_1_0 delta_1_2 delete_delta_1_2 base_2")
    everything = ["delete_delta_1_2", "delta_1_1_0", "delta_1_2"]
    made_later = {"base_2": "compacted"}
    assert obsolete(files, snapshot(2), markers=made_later, minor=True) == ["delta_1_1_0"]
    assert obsolete(files, snapshot(2), markers=made_later) == everything
    # An overwrite's was there before.
    assert obsolete(files, snapshot(2), minor=True) == everything


def test_obsolete_with_only_a_newer_base() -> None:
    assert obsolete(listing("base_8_v30 delta_5_5_0"), snapshot(5, aborted={5})) == ["delta_5_5_0"]


def test_names_in_these_tests_parse() -> None:
    for name in re.split(r"\s+", MANY + " " + VISIBILITY):
        assert parse_directory(name) is not None


def test_a_directory_whose_writer_died_before_its_first_file() -> None:
    files = listing("delta_1_1_0 delta_4_4_0")
    names = ["delta_1_1_0", "delta_2_2_0", "delete_delta_2_2_0", "base_2", "delta_3_3_0"]
    names += ["delta_6_6_0", "_tmp", "x"]
    assert obsolete(files, snapshot(5, aborted={2, 6}), directories=names) == [
        "base_2", "delete_delta_2_2_0", "delta_2_2_0", "delta_3_3_0",
    ]  # fmt: skip
