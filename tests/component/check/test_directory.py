"""CHECK TABLE's reading: tables that are as they should be, and every way they may not be."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyarrow.parquet as pq
import pytest

from acidsql.check.directory import check_directories
from acidsql.check.names import Names, name_problems
from acidsql.layout.listing import ListedFile
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.problem import ProblemKind
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import FileFormat, Table, TableKind
from acidsql.orc import writer as orc_writer
from acidsql.orc.footer import ACID_VERSION, KEY_INDEX, STATS, append_metadata, read_tail
from acidsql.orc.writer import EventWriter
from tests.checks import problems
from tests.unit.engines.tables import EVERYTHING, STORAGE, columns, snapshot, table
from tests.unit.orc.events import id_batch

DATA = Path(__file__).parents[2] / "data" / "hive-written"
P0, P1 = 1 << 29, 1 << 29 | 1 << 16
COLUMNS = columns("k int, v string")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "t"


@pytest.fixture
def of(place: Path) -> Table:
    return table(place, "k int, v string")


def rows(keys: list[int]) -> pa.RecordBatch:
    texts = [f"v{k}" for k in keys]
    return pa.record_batch({"k": pa.array(keys, pa.int32()), "v": pa.array(texts)})


def directory(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    (path / "_orc_acid_version").write_bytes(b"2")
    return path


def insert(
    place: Path, write_id: int, keys: list[int], name: str = "", prop: int = P0, bucket: int = 0
) -> Path:
    """A delta's bucket file of these keys."""
    path = directory(place / (name or f"delta_{write_id:07d}_{write_id:07d}_0000"))
    path /= f"bucket_{bucket:05d}"
    with EventWriter(str(path), COLUMNS) as writer:
        writer.write_inserts(rows(keys), WriteId(write_id), prop)
    return path


def delete(
    place: Path, write_id: int, ids: list[tuple[int, int, int]], name: str = "", bucket: int = 0
) -> Path:
    path = directory(place / (name or f"delete_delta_{write_id:07d}_{write_id:07d}_0000"))
    path /= f"bucket_{bucket:05d}"
    with EventWriter(str(path), COLUMNS) as writer:
        writer.write_deletes(id_batch(ids), WriteId(write_id))
    return path


def found(of: Table, mark: int = 5, txns: ValidTxnList = EVERYTHING) -> list[tuple[str, str, str]]:
    """Path below the table, kind and detail of each problem."""
    result = problems(snapshot(of, mark), txns)
    return sorted((p.path.replace(f"{of.location}/", ""), p.kind.value, p.detail) for p in result)


# -- tables that are as they should be -------------------------------------------------------------


def test_what_the_writer_writes_is_clean(place: Path, of: Table) -> None:
    insert(place, 1, [1, 2, 3])
    insert(place, 2, [4], prop=P1, bucket=1)
    delete(place, 3, [(1, P0, 0), (1, P0, 2)])
    assert found(of) == []


def test_a_base_leaves_out_what_a_wider_delete_delta_still_names(place: Path, of: Table) -> None:
    insert(place, 2, [1, 2], name="base_0000002")
    delete(place, 2, [(1, P0, 0)], name="delete_delta_0000001_0000003")
    assert found(of) == []


def test_a_minor_compaction_leaves_out_what_its_own_write_id_deleted(
    place: Path, of: Table
) -> None:
    insert(place, 1, [1, 2], name="delta_0000001_0000002")
    delete(place, 2, [(2, P0, 0)], name="delete_delta_0000001_0000002")
    assert found(of) == []


@pytest.mark.parametrize("name", ["b_bigint", "b_char", "b_decimal", "b_double", "b_string"])
def test_rows_of_hive_lie_in_the_buckets_of_their_hashes(name: str, tmp_path: Path) -> None:
    kind = {"b_char": "char(20)", "b_decimal": "decimal(20,4)"}.get(name, name[2:])
    delta = directory(tmp_path / "t" / "delta_0000001_0000001_0000")
    for file in (DATA / "bucketed" / name).iterdir():
        shutil.copy(file, delta)
    of = table(tmp_path / "t", f"k int, v {kind}", buckets=("v", 4))
    assert found(of) == []
    kinds = {kind for _, kind, _ in found(table(tmp_path / "t", f"k int, v {kind}", "", ("k", 4)))}
    assert kinds == {"wrong hash"}


# -- names -----------------------------------------------------------------------------------------


def named(
    paths: list[str], kind: TableKind = TableKind.FULL_ACID, **how: object
) -> list[tuple[str, str]]:
    """Path and kind of the problems of a listing; a path that ends in 0 is an empty file's."""
    names = Names(
        kind,
        ValidWriteIdList("t", WriteId(5), open=frozenset({WriteId(4)})),
        WriteId(7),
        **how,  # type: ignore[arg-type]
    )
    files = [ListedFile(p.removesuffix("=0"), 0 if p.endswith("=0") else 9) for p in paths]
    return [(p.path, p.kind.value) for p in name_problems(files, [], names)]


def test_only_a_text_of_no_rows_has_no_bytes() -> None:
    assert named(["000000_0=0"], TableKind.PLAIN, format=FileFormat.TEXT) == []
    assert named(["000000_0=0"], TableKind.PLAIN) == [("000000_0", "empty file")]


def test_an_insert_of_no_rows_may_have_no_bytes() -> None:
    """So both Hives write it into insert-only tables, Hive 3 into deltas too."""
    for empty in ("base_0000003/000000_0=0", "delta_0000003_0000003_0000/000000_0=0"):
        assert named([empty], TableKind.INSERT_ONLY) == []


def test_a_transaction_that_was_aborted_has_lost_nothing() -> None:
    """A Hive that streams one transaction at a time leaves the file empty until it goes on."""
    files = [ListedFile("delta_0000003_0000003/bucket_00000", 0)]
    for aborted in (frozenset({WriteId(3)}), frozenset[WriteId]()):
        write_ids = ValidWriteIdList("t", WriteId(5), aborted=aborted)
        names = Names(TableKind.FULL_ACID, write_ids, WriteId(5))
        kinds = [p.kind for p in name_problems(files, [], names)]
        assert kinds == ([] if aborted else [ProblemKind.EMPTY_FILE])


@pytest.mark.parametrize("kind", [TableKind.PLAIN, TableKind.INSERT_ONLY])
def test_a_bucket_of_no_rows_may_have_no_bytes(kind: TableKind) -> None:
    empty = ["base_0000003/000001_0=0"]
    assert named(empty, kind, bucketed=True) == []
    events = ["base_0000003/bucket_00001=0"]
    assert named(events, bucketed=True) == [("base_0000003/bucket_00001", "empty file")]


@pytest.mark.parametrize(
    "path",
    [
        "base_0000003/bucket_00000",
        "base_0000003/_metadata_acid",
        "base_-9223372036854775808/bucket_00000",
        "delta_0000001_0000001_0000/bucket_00000_0",
        "delta_0000001_0000001_0000/_orc_acid_version",
        "delta_0000001_0000001_0000/000000_0",
        "delta_0000001_0000003/bucket_00000_flush_length",
        "000000_0_copy_2",
        "HIVE_UNION_SUBDIR_1/000000_0",
        "_SUCCESS",
        # Write id 4 is open, 6 and 7 were given out after the snapshot: they are still at work.
        "delta_0000004_0000004_0000/_attempt_1_bucket_00000",
        "delta_0000006_0000006_0000/_attempt_1_bucket_00000",
    ],
)
def test_a_name_that_is_fine(path: str) -> None:
    assert named([path]) == []


@pytest.mark.parametrize(
    ("path", "where", "kind"),
    [
        ("part-00000.orc", "part-00000.orc", "unknown name"),
        ("other/x", "other", "unknown name"),
        ("delta_1_2_3_4/bucket_00000", "delta_1_2_3_4", "unknown name"),
        ("delta_0000001_0000001_0000/part-0", None, "unknown name"),
        ("delete_delta_0000001_0000001_0000/000000_0", None, "unknown name"),
        ("delta_0000001_0000001_0000/sub/bucket_00000", None, "unknown name"),
        ("delta_0000001_0000001_0000/bucket_00000_flush_length", None, "unknown name"),
        ("delta_1_1_0/bucket_00000", "delta_1_1_0", "unpadded name"),
        ("delta_0000001_0000001_0000/bucket_1", None, "unpadded name"),
        ("_tmp_1_base_0000005/bucket_00000", "_tmp_1_base_0000005", "left behind"),
        ("delta_0000001_0000001_0000/_attempt_1_bucket_00000", None, "left behind"),
        (".hidden", ".hidden", "left behind"),
        (
            "delta_0000008_0000008_0000/bucket_00000",
            "delta_0000008_0000008_0000",
            "unknown write id",
        ),
        ("base_0000008/bucket_00000", "base_0000008", "unknown write id"),
        ("delta_0000001_0000001_0000/bucket_00000=0", None, "empty file"),
    ],
)
def test_a_name_that_is_wrong(path: str, where: str | None, kind: str) -> None:
    where = path.removesuffix("=0") if where is None else where
    last = path.rpartition("/")[2]
    found = named([path])
    assert [(p if p != last else path, k) for p, k in found] == [(where, kind)]


def test_two_files_of_a_bucket() -> None:
    delta = "delta_0000001_0000001_0000"
    paths = [f"{delta}/bucket_00000", f"{delta}/bucket_00000_1"]
    assert named(paths) == [(paths[1], "two files of a bucket")]


def test_a_compaction_at_work_has_left_nothing_behind() -> None:
    assert named(["_tmp_1_base_0000005/bucket_00000"], compacting=True) == []


def test_names_of_an_insert_only_table() -> None:
    fine = ["delta_0000001_0000001_0000/000000_0", "base_0000002/x/000000_0"]
    wrong = ["000000_0", "delete_delta_0000001_0000001_0000/bucket_00000", "x/y"]
    assert named([*fine, *wrong], TableKind.INSERT_ONLY) == [
        ("000000_0", "unknown name"),
        ("delete_delta_0000001_0000001_0000", "unknown name"),
        ("x", "unknown name"),
    ]


def test_names_of_a_plain_table() -> None:
    paths = ["part-0.orc", "sub/part-0.orc", "_temporary/0", "part-1.orc=0"]
    assert named(paths, TableKind.PLAIN) == [
        ("part-1.orc", "empty file"),
        ("_temporary", "left behind"),
    ]


# -- one file --------------------------------------------------------------------------------------

Damage = Callable[[Path], object]


def footer(**changes: str) -> Damage:
    """Keys of the footer replaced: of two values of a key the last one counts."""
    names = {"index": KEY_INDEX, "stats": STATS, "version": ACID_VERSION}

    def damage(path: Path) -> None:
        append_metadata(
            str(path), read_tail(str(path)), {names[k]: v for k, v in changes.items()}, None
        )

    return damage


@pytest.mark.parametrize(
    ("damage", "kind", "detail"),
    [
        (footer(index=""), "wrong footer", "hive.acid.key.index has 0 entries for 1 stripes"),
        (
            footer(index=f"1,{P0},1;"),
            "wrong footer",
            f'hive.acid.key.index says "1,{P0},1" of stripe 0, which ends with 1,{P0},2',
        ),
        (footer(stats="2,0,0"), "wrong footer", 'hive.acid.stats is "2,0,0", not "3,0,0"'),
        (footer(version="1"), "wrong footer", 'hive.acid.version is "1", not "2"'),
        (lambda p: p.write_bytes(p.read_bytes()[:-5]), "unreadable", None),
        (lambda p: p.write_bytes(b"ORC"), "unreadable", None),
        (lambda p: (p.parent / "_orc_acid_version").unlink(), "no format version", None),
        (lambda p: (p.parent / "_orc_acid_version").write_bytes(b"1\n"), "no format version", None),
        (lambda p: p.write_bytes(b""), "empty file", None),
        (lambda p: p.rename(p.with_name("bucket_00001")), "wrong bucket", None),
        (
            lambda p: p.parent.rename(p.parents[1] / "delta_0000002_0000002_0000"),
            "wrong write id",
            f"currentTransaction is outside of the directory: 3 events, first 1,{P0},0",
        ),
        (
            lambda p: p.parent.rename(p.parents[1] / "delta_0000001_0000001_0001"),
            "wrong statement id",
            f"the bucket property is not of statement 1: 3 events, first 1,{P0},0",
        ),
        (
            lambda p: p.parent.rename(p.parents[1] / "delete_delta_0000001_0000001_0000"),
            "wrong event",
            f"the event is not a delete: 3 events, first 1,{P0},0",
        ),
    ],
)
def test_a_damaged_file(
    place: Path, of: Table, damage: Damage, kind: str, detail: str | None
) -> None:
    path = insert(place, 1, [1, 2, 3])
    assert found(of) == []
    damage(path)
    kinds = {k: d for _, k, d in found(of)}
    assert kind in kinds
    assert set(kinds) <= {kind, "wrong statement id"}
    assert detail in (None, kinds[kind])


def test_a_stream_of_no_kind(place: Path, of: Table) -> None:
    """pyarrow passes over the stream. Java's reader takes all data from behind the right place."""
    path = directory(place / "delta_0000001_0000001_0000") / "bucket_00000"
    with EventWriter(str(path), COLUMNS, "none") as writer:
        writer.write_inserts(rows([1, 2, 3]), WriteId(1), P0)
    kind, unknown, column = b"\x08\x06", b"\x28\x06", b"\x10\x03"
    content = path.read_bytes()
    assert content.count(kind + column) == 1
    [stripe] = read_tail(str(path)).stripes
    path.write_bytes(content.replace(kind + column, unknown + column))
    [(_, problem, detail)] = found(of)
    assert problem == "wrong footer"
    assert re.fullmatch(
        rf"of stripe 0, the streams of the index have \d+ bytes, not {stripe.index_length}", detail
    )


def test_the_keys_are_missing(place: Path, of: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orc_writer, "acid_metadata", lambda *_, **__: {})
    insert(place, 1, [1])
    assert [detail for _, _, detail in found(of)] == [
        f"{key} is missing" for key in (KEY_INDEX, STATS, ACID_VERSION)
    ]


def test_a_plain_file_in_a_delta(place: Path, of: Table) -> None:
    path = insert(place, 1, [1])
    pa_orc.write_table(pa.table({"k": [1]}), str(path))
    assert [kind for _, kind, _ in found(of)] == ["unreadable"]


def test_events_out_of_order(place: Path, of: Table) -> None:
    insert(place, 1, [1, 2])
    path = delete(place, 2, [(1, P0, 0), (1, P0, 1)])
    events = pa_orc.read_table(str(path))
    pa_orc.write_table(events.take([1, 0]), str(path))
    keys = {KEY_INDEX: f"1,{P0},0;", STATS: "0,0,2", ACID_VERSION: "2"}
    append_metadata(str(path), read_tail(str(path)), keys)
    assert [(k, d) for _, k, d in found(of)] == [
        ("unsorted", f"a row id does not exceed the one before: 1 event, first 1,{P0},0")
    ]


def test_a_base_with_what_the_snapshot_must_not_see(place: Path, of: Table) -> None:
    insert(place, 2, [1, 2], name="base_0000003")
    assert problems(snapshot(of, 5), EVERYTHING) == []
    kinds = [p.kind.value for p in problems(snapshot(of, 5, aborted=[2]), EVERYTHING)]
    assert kinds == ["wrong write id"]


def test_rows_in_the_wrong_bucket(place: Path) -> None:
    of = table(place, "k int, v string", buckets=("k", 2))
    insert(place, 1, [1, 2, 3, 4, 5, 6, 7, 8])
    [(path, kind, detail)] = found(of)
    assert (path, kind) == ("delta_0000001_0000001_0000/bucket_00000", "wrong hash")
    assert detail.startswith("CLUSTERED BY (k) puts it into another bucket: ")


# -- files together --------------------------------------------------------------------------------


def test_a_row_id_that_is_there_twice(place: Path, of: Table) -> None:
    insert(place, 1, [1, 2, 3])
    insert(place, 1, [8, 9], name="base_0000001")
    insert(place, 1, [5, 6, 7], name="delta_0000001_0000002")
    [(path, kind, detail)] = found(of)
    assert (path, kind) == ("delta_0000001_0000002/bucket_00000", "duplicate row id")
    assert detail.startswith(f"2 row ids, first 1,{P0},0, also in ")


def test_a_row_that_is_deleted_twice(place: Path, of: Table) -> None:
    insert(place, 1, [1, 2, 3])
    delete(place, 2, [(1, P0, 0)])
    delete(place, 3, [(1, P0, 0), (1, P0, 1)])
    [(path, kind, detail)] = found(of)
    assert (path, kind) == ("delete_delta_0000003_0000003_0000/bucket_00000", "deleted twice")
    assert detail.startswith(f"1 row id, first 1,{P0},0, also in ")


def test_deletes_of_rows_that_are_not_there(place: Path, of: Table) -> None:
    insert(place, 1, [1, 2, 3])
    delete(place, 3, [(1, P0, 2), (1, P0, 3), (2, P0, 0)])
    [(path, kind, detail)] = found(of)
    assert (path, kind) == ("delete_delta_0000003_0000003_0000/bucket_00000", "orphan delete")
    assert detail == f"the deleted row is not there: 2 events, first 1,{P0},3"


def test_an_update_that_went_to_another_partition_than_its_row(tmp_path: Path) -> None:
    """As Hive 4 updates a table that is partitioned by a decimal: the row is doubled."""
    of = table(tmp_path / "t", "k int, v string", partitions="p decimal(5,2)")
    old, new = (tmp_path / "t" / f"p={p}" for p in ("-0.25", "0"))
    insert(old, 1, [1])
    delete(new, 2, [(1, P0, 0)])
    insert(new, 2, [1], name="delta_0000002_0000002_0001", prop=P0 | 1)
    found = problems(snapshot(of, 2, partitions=["p=-0.25", "p=0"]), EVERYTHING)
    assert [(str(p.partition), p.kind.value) for p in found] == [("p=0", "orphan delete")]


def test_deletes_of_rows_an_aborted_write_brought_are_orphans(place: Path, of: Table) -> None:
    insert(place, 1, [1])
    delete(place, 3, [(1, P0, 0)])
    kinds = [p.kind.value for p in problems(snapshot(of, 5, aborted=[1]), EVERYTHING)]
    assert kinds == ["orphan delete"]


def test_hive_3_copies_deletes_into_every_bucket(place: Path, of: Table) -> None:
    name = "delete_delta_0000001_0000003"
    insert(place, 1, [1, 2])
    insert(place, 2, [3], prop=P1, bucket=1)
    delete(place, 3, [(1, P0, 0), (2, P1, 0)], name=name)
    delete(place, 3, [(1, P0, 0), (2, P1, 0)], name=name, bucket=1)
    assert [(p, k) for p, k, _ in found(of)] == [
        (f"{name}/bucket_00000", "copied delete"),
        (f"{name}/bucket_00001", "copied delete"),
    ]


def test_a_delete_in_the_file_of_another_bucket_alone(place: Path, of: Table) -> None:
    insert(place, 1, [1, 2])
    delete(place, 2, [(1, P0, 0)], bucket=1)
    assert [(k, d) for _, k, d in found(of)] == [
        ("wrong bucket", f"the bucket property is not of bucket 1: 1 event, first 1,{P0},0")
    ]


def test_a_delete_by_the_statement_that_brought_the_row(place: Path, of: Table) -> None:
    insert(place, 1, [1, 2])
    delete(place, 1, [(1, P0, 0)])
    assert [k for _, k, _ in found(of)] == ["own delete", "wrong statement id"]
    shutil.rmtree(place / "delete_delta_0000001_0000001_0000")
    delete(place, 1, [(1, P0, 0)], name="delete_delta_0000001_0000001_0001")
    assert [k for _, k, _ in found(of)] == ["own delete"]


def test_rows_of_original_and_loaded_files_are_known_by_their_places(
    place: Path, of: Table
) -> None:
    directory(place / "delta_0000001_0000001_0000")
    for name, count in (("000000_0", 3), ("000000_0_copy_1", 2)):
        pa_orc.write_table(pa.table({"k": [1] * count}), str(place / name))
        path = place / "delta_0000001_0000001_0000" / name
        pa_orc.write_table(pa.table({"k": [1] * count}), str(path))
    delete(place, 2, [(0, P0, 0), (0, P0, 4), (1, P0, 4)])
    assert found(of) == []
    delete(place, 3, [(0, P0, 5), (1, P0, 5)])
    assert [(k, d) for _, k, d in found(of)] == [
        ("orphan delete", f"the deleted row is not there: 2 events, first 0,{P0},5")
    ]


def test_files_of_an_insert_only_table_are_read(place: Path) -> None:
    of = table(place, "k int")
    of = Table(
        of.name, of.columns, of.location,
        parameters={"transactional": "true", "transactional_properties": "insert_only"},
    )  # fmt: skip
    delta = place / "delta_0000001_0000001_0000"
    delta.mkdir(parents=True)
    pa_orc.write_table(pa.table({"k": [1, 2]}), str(delta / "000000_0"))
    assert found(of) == []
    (delta / "000001_0").write_bytes((delta / "000000_0").read_bytes()[:-30])
    assert [(p, k) for p, k, _ in found(of)] == [(f"{delta.name}/000001_0", "unreadable")]


@pytest.mark.parametrize("kind", ["plain", "insert_only"])
def test_files_of_other_formats_are_read(place: Path, kind: str) -> None:
    of = replace(table(place, "k int"), parameters={})
    if kind == "insert_only":
        parameters = {"transactional": "true", "transactional_properties": "insert_only"}
        of = replace(of, parameters=parameters)
    delta = place / "delta_0000001_0000001_0000" if kind == "insert_only" else place
    delta.mkdir(parents=True)
    path = delta / "000000_0"
    path.write_text("1\n2\n")
    text = replace(of, format=FileFormat.TEXT)
    assert found(text) == []
    assert check_directories(snapshot(text, 9), EVERYTHING, STORAGE).events == 2
    pq.write_table(pa.table({"k": [1, 2, 3]}), path)
    parquet = replace(of, format=FileFormat.PARQUET)
    assert found(parquet) == []
    assert check_directories(snapshot(parquet, 9), EVERYTHING, STORAGE).events == 3
    path.write_bytes(path.read_bytes()[:-30])
    assert [(p, k) for p, k, _ in found(parquet)] == [(str(path.relative_to(place)), "unreadable")]


def test_a_broken_marker_is_a_finding_not_a_failure(place: Path, of: Table) -> None:
    insert(place, 1, [1], name="base_0000001")
    (place / "base_0000001" / "_metadata_acid").write_text("{")
    assert [(p, k) for p, k, _ in found(of)] == [(str(place), "unreadable")]


def test_a_directory_of_an_unfinished_compaction_is_not_read(place: Path, of: Table) -> None:
    insert(place, 1, [1])
    insert(place, 1, [1], name="base_0000001_v0000009")
    assert found(of, txns=ValidTxnList(TxnId(8))) == []
