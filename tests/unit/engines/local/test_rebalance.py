"""Rebalance: which files come out, with which row ids, in which order, and from what."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from acidsql.engines.local import sorted_rows
from acidsql.engines.local.rebalance import rebalance
from acidsql.engines.output import Output
from acidsql.engines.publish import publish
from acidsql.engines.rows import Placement, write_rows
from acidsql.engines.target import TABLE_ITSELF
from acidsql.errors import CorruptFileError, TxnAbortedError
from acidsql.layout.dir_names import METADATA_FILE
from acidsql.model.ids import StatementId, TxnId, WriteId
from acidsql.model.sort_order import SortColumn, parse_sort_order
from acidsql.model.table import Table
from acidsql.orc.footer import read_tail
from acidsql.plans.compact import CompactPlan
from tests.checks import check_snapshot
from tests.unit.engines.compaction_model import Model
from tests.unit.engines.tables import EVERYTHING, NAME, STORAGE, contents, snapshot, table
from tests.unit.engines.tables import target as target_of


def fill(of: Table, write_id: int, rows: pa.Table) -> None:
    with Output(target_of(of, write_id)) as output:
        codes = pa.array([0] * rows.num_rows).to_numpy()
        write_rows(output, rows, codes, [TABLE_ITSELF], Placement.of(of), StatementId(0), 0)
    publish(output.files, output.target)


def ask(of: Table, write_id: int, order: str = "", **more: Any) -> None:
    plan = CompactPlan(
        table=NAME, partition=None, type="rebalance",
        order=parse_sort_order(order) if order else (), **more,
    )  # fmt: skip
    seen = snapshot(of, write_id)
    compactor = type(seen)(of, seen.partitions, seen.write_ids.for_compactor())
    rebalance(plan, compactor, EVERYTHING, STORAGE, TxnId(7), WriteId(write_id))


def base(of: Table, write_id: int) -> dict[str, int]:
    """The data files of the base, and how many rows each has."""
    found = Path(of.location, f"base_{write_id:07d}")
    return {p.name: read_tail(str(p)).rows for p in sorted(found.glob("bucket_*"))}


def in_order(of: Table, write_id: int) -> list[dict[str, Any]]:
    """All rows, by row id."""
    (seen,) = contents(of, write_id)
    return [row for _, row in sorted(seen.rows.items())]


def test_all_rows_in_files_of_equal_size(tmp_path: Path) -> None:
    model = Model(table(tmp_path, "k int"))
    model.insert([1, 2, 3, 4, 5])
    model.insert([6, 7, 8, 9, None, 11])
    model.change(sorted(model.rows)[:1], update=False)
    model.change(sorted(model.rows)[3:4], update=True)
    assert {r[1] >> 16 & 4095 for r in model.rows} == {0, 1}
    model.rebalance(4)
    assert base(model.of, 5) == {f"bucket_0000{n}": rows for n, rows in enumerate((3, 3, 3, 1))}
    model.check()
    model.clean()
    model.check()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["base_0000005"]
    assert not (tmp_path / "base_0000005" / METADATA_FILE).exists()


def test_as_many_files_as_there_are_buckets_now(tmp_path: Path) -> None:
    model = Model(table(tmp_path, "k int"))
    model.insert([1] * 9)
    model.insert([2])
    model.rebalance()
    assert base(model.of, 3) == {"bucket_00000": 5, "bucket_00001": 5}
    model.check()


@pytest.mark.parametrize("kind", ["delta", "delete_delta"])
def test_files_of_two_buckets_that_were_exchanged_are_refused(tmp_path: Path, kind: str) -> None:
    """Readers find each delete, whatever its file is called. Bucket by bucket it is missed."""
    model = Model(table(tmp_path, "k int", "", ("k", 2)))
    model.insert([1, 2, 3, 4])
    model.change(sorted(model.rows)[::2], update=False)
    of = replace(model.of, bucketing=None)
    [one, other] = sorted(tmp_path.glob(f"{kind}_*/bucket_*"))
    one.rename(tmp_path / "one")
    other.rename(one)
    (tmp_path / "one").rename(other)
    with pytest.raises(CorruptFileError, match="of another bucket than 0"):
        ask(of, 3)


def test_no_more_files_than_rows(tmp_path: Path) -> None:
    model = Model(table(tmp_path, "k int"))
    model.insert([1, 2])
    model.rebalance(5)
    assert base(model.of, 2) == {"bucket_00000": 1, "bucket_00001": 1}
    model.check()


def test_a_table_whose_rows_are_gone(tmp_path: Path) -> None:
    model = Model(table(tmp_path, "k int"))
    model.insert([1, 2])
    model.change(sorted(model.rows), update=False)
    model.rebalance(3)
    assert base(model.of, 3) == {"bucket_00000": 0}
    model.check()


def test_twice(tmp_path: Path) -> None:
    model = Model(table(tmp_path, "k int"))
    model.insert([1, 2, 3])
    model.rebalance(3)
    model.rebalance(2)
    model.check()
    model.change(sorted(model.rows)[1:2], update=True)
    model.compact("major")
    model.rebalance(1)
    model.check()
    assert base(model.of, 5) == {"bucket_00000": 3}


def test_aborted_writes_are_left_out(tmp_path: Path) -> None:
    model = Model(table(tmp_path, "k int"))
    model.insert([1, 2, 3])
    model.insert([4], commit=False)
    model.change(sorted(model.rows)[:1], update=False, commit=False)
    model.rebalance(2)
    model.check()


KINDS = {
    "int": [3, None, -1, 7, 3],
    "string": ["b", "", None, "é", "a"],
    "double": [1.5, float("nan"), None, float("-inf"), -0.0],
    "boolean": [True, None, False, True, False],
    "decimal(10,2)": ["1.50", "-3.00", None, "1.25", "100.00"],
    "date": ["2026-01-01", None, "1969-12-31", "0001-01-01", "9999-12-31"],
    "timestamp": [
        "2026-01-01 00:00:00.000001", None, "2026-01-01 00:00:00", "1969-12-31 23:59:58.5",
        "2200-06-01 12:00:00.123456",
    ],
}  # fmt: skip


def least_first(value: Any) -> tuple[int, Any]:
    return (1, 0) if value != value else (0, value)  # noqa: PLR0124 - NaN is the greatest


def expected(values: Sequence[Any], order: SortColumn) -> list[Any]:
    nulls = [v for v in values if v is None]
    others = sorted((v for v in values if v is not None), key=least_first)
    if order.descending:
        others.reverse()
    return [*nulls, *others] if order.nulls_first else [*others, *nulls]


ORDERS = ["k", "k DESC", "k ASC NULLS FIRST", "k DESC NULLS LAST"]


@pytest.mark.parametrize(
    ("kind", "order"),
    [
        # Each type in one order, and the type with the strangest values in all of them.
        (kind, order)
        if kind == "double" or order == "k DESC"
        else pytest.param(kind, order, marks=pytest.mark.thorough)
        for kind in KINDS
        for order in ORDERS
    ],
)
def test_order_by(kind: str, order: str, tmp_path: Path) -> None:
    of = table(tmp_path, f"k {kind}")
    fill(of, 1, _rows(kind))
    (before,) = contents(of, 1)
    values = [row["k"] for row in before.rows.values()]
    ask(of, 2, f"ORDER BY {order}", buckets=2)
    (wanted,) = parse_sort_order(f"ORDER BY {order}")
    found = [row["k"] for row in in_order(of, 2)]
    assert list(map(repr, found)) == list(map(repr, expected(values, wanted)))
    assert base(of, 2) == {"bucket_00000": 3, "bucket_00001": 2}


def _rows(kind: str) -> pa.Table:
    arrow = {
        "int": pa.int32(), "string": pa.string(), "double": pa.float64(), "boolean": pa.bool_(),
        "decimal(10,2)": pa.decimal128(10, 2), "date": pa.date32(), "timestamp": pa.timestamp("us"),
    }[kind]  # fmt: skip
    values = KINDS[kind]
    if kind in ("decimal(10,2)", "date", "timestamp"):
        return pa.table({"k": pa.array(values, pa.string()).cast(arrow)})
    return pa.table({"k": pa.array(values, arrow)})


def test_equal_keys_stay_in_the_order_of_their_row_ids(tmp_path: Path) -> None:
    of = table(tmp_path, "k int, n int")
    chance = random.Random(4)
    keys = [chance.choice([None, 1, 2]) for _ in range(300)]
    rows = pa.table({"k": pa.array(keys, pa.int32()), "n": pa.array(range(300), pa.int32())})
    fill(of, 1, rows.slice(0, 100))
    fill(of, 2, rows.slice(100))
    ask(of, 3, "ORDER BY k DESC NULLS LAST", buckets=7)
    found = [(row["k"], row["n"]) for row in in_order(of, 3)]
    ranks = {2: 0, 1: 1, None: 2}
    assert found == sorted(zip(keys, range(300), strict=True), key=lambda p: (ranks[p[0]], p[1]))


@pytest.mark.parametrize(("run", "step"), [(1, 3), (2000, 64), (1 << 20, 10)])
def test_sorting_with_little_memory(
    run: int, step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of a few rows, and merges of fewer: the outcome is that of one sort."""
    monkeypatch.setattr(sorted_rows, "RUN_BYTES", run)
    monkeypatch.setattr(sorted_rows, "STEP_ROWS", step)
    of = table(tmp_path, "k int, s string")
    chance = random.Random(run)
    keys = [chance.choice([None, *range(40)]) for _ in range(500)]
    texts = [chance.choice("abc") * chance.randrange(3) for _ in keys]
    rows = pa.table({"k": pa.array(keys, pa.int32()), "s": pa.array(texts)})
    for write_id in range(1, 6):
        fill(of, write_id, rows.slice(100 * (write_id - 1), 100))
    ask(of, 6, "ORDER BY s DESC, k", buckets=3)
    found = [(row["k"], row["s"]) for row in in_order(of, 6)]
    by_key = sorted(zip(keys, texts, strict=True), key=lambda p: (p[0] is None, p[0] or 0))
    assert found == sorted(by_key, key=lambda p: p[1], reverse=True)
    assert list(base(of, 6).values()) == [167, 167, 166]


def test_streams_are_merged_by_row_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_rows, "STEP_ROWS", 2)
    model = Model(table(tmp_path, "k int"))
    for number in range(6):
        model.insert(list(range(number * 10, number * 10 + 5)))
    model.rebalance(3)
    model.check()


def test_the_codec_of_the_table(tmp_path: Path) -> None:
    model = Model(table(tmp_path, "k int"))
    model.of.parameters["orc.compress"] = "ZLIB"  # type: ignore[index]
    model.insert([1])
    model.rebalance(1)
    assert read_tail(f"{tmp_path}/base_0000002/bucket_00000").compression == "zlib"


def test_who_has_lost_the_transaction_publishes_nothing(tmp_path: Path) -> None:
    model = Model(table(tmp_path, "k int"))
    model.insert([1, 2])
    seen = snapshot(model.of, 2)

    def lost() -> None:
        raise TxnAbortedError("Transaction txnid:7 already aborted")

    compactor = type(seen)(model.of, seen.partitions, seen.write_ids.for_compactor(), lost)
    plan = CompactPlan(table=NAME, partition=None, type="rebalance")
    with pytest.raises(TxnAbortedError):
        rebalance(plan, compactor, EVERYTHING, STORAGE, TxnId(7), WriteId(2))
    assert [p.name for p in tmp_path.iterdir()] == ["delta_0000001_0000001_0000"]
    model.check()


def test_the_base_is_whole(tmp_path: Path) -> None:
    """CHECK TABLE finds nothing in it."""
    of = table(tmp_path, "k int, s string")
    fill(of, 1, pa.table({"k": pa.array([1, 2, 3], pa.int32()), "s": ["a", "b", None]}))
    ask(of, 2, "ORDER BY s", buckets=2)
    (found,) = check_snapshot(snapshot(of, 2), EVERYTHING)
    assert len(found.rows) == 3
