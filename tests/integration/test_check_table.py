"""CHECK TABLE through a session and the command line, and over all that a real Hive wrote."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import acidsql
from acidsql.cli.main import main
from acidsql.layout.dir_names import parse_directory, parse_original_file
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import Bucketing, Column, Table
from acidsql.model.types import parse_type
from acidsql.ports.engine import PartitionLocation, TableSnapshot
from acidsql.session.session import Session
from tests.checks import problems

STATES = Path(__file__).parents[1] / "data" / "hive-written" / "states"
ACID = "TBLPROPERTIES ('transactional' = 'true')"


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    return tmp_path / "w"


@pytest.fixture
def session(warehouse: Path) -> Iterator[Session]:
    """No statement here needs Spark."""
    with acidsql.connect(str(warehouse)) as session:
        session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (d date, n int) {ACID}")
        session.execute("INSERT INTO t VALUES (1, '2020-01-01', 1), (2, '2020-01-01', NULL)")
        yield session


def found(session: Session, partition: str = "") -> list[tuple[str | None, str, str]]:
    result = session.execute(f"CHECK TABLE t {partition}")
    assert result.columns == ["partition", "path", "problem", "detail"]
    return [(p, re.sub(".*/w/t/?", "", path), problem) for p, path, problem, _ in result]


def test_a_clean_table_yields_no_row_and_says_what_was_read(session: Session) -> None:
    result = session.execute("CHECK TABLE t")
    assert (result.kind, result.fetchall()) == ("check", [])
    assert result.message == "default.t: no problem found in 2 files, 2 events"
    assert session.execute("SHOW LOCKS").fetchall() == []
    assert session.execute("SHOW TRANSACTIONS").fetchall() == []


def test_partitions_of_the_catalog_and_directories(session: Session, warehouse: Path) -> None:
    known = warehouse / "t" / "d=2020-01-01" / "n=1"
    null = known.parent / "n=__HIVE_DEFAULT_PARTITION__"
    shutil.copytree(known, known.parent / "n=2")
    shutil.copytree(known, warehouse / "t" / "other")
    # Of a write that is not committed, so nobody's business yet.
    shutil.copytree(
        known / "delta_0000001_0000001_0000", known.parent / "n=3" / "delta_0000009_0000009_0000"
    )
    (warehouse / "t" / "_tmp" / "x").mkdir(parents=True)
    (warehouse / "t" / "_tmp" / "x" / "y").touch()
    shutil.rmtree(null)
    assert found(session) == [
        (None, "_tmp/x", "left behind"),
        (None, "d=2020-01-01/n=2", "unknown partition"),
        (f"d=2020-01-01/{null.name}", f"d=2020-01-01/{null.name}", "missing directory"),
        (None, "other/delta_0000001_0000001_0000", "unknown name"),
    ]
    # Beside one partition nothing is looked for.
    assert found(session, "PARTITION (d = '2020-01-01', n = 1)") == []


def test_a_write_id_that_was_never_given_out(session: Session, warehouse: Path) -> None:
    delta = next((warehouse / "t").glob("**/n=1/delta_*"))
    delta.rename(delta.with_name("delta_0000005_0000005_0000"))
    assert [(path, problem) for _, path, problem in found(session)] == [
        ("d=2020-01-01/n=1", "missing write"),
        ("d=2020-01-01/n=1/delta_0000005_0000005_0000", "unknown write id"),
    ]


def test_the_rows_a_table_was_made_with_are_missed(
    spark: Any, session: Session, warehouse: Path
) -> None:
    with acidsql.connect(str(warehouse), spark=spark) as maker:
        maker.execute(f"CREATE TABLE u {ACID} AS SELECT k, n FROM t")
        maker.execute(f"CREATE TABLE v PARTITIONED BY (n) {ACID} AS SELECT k, n FROM t")
    for path in [*warehouse.glob("u/delta_*"), *warehouse.glob("v/n=1/delta_*")]:
        shutil.rmtree(path)
    assert [r[2] for r in session.execute("CHECK TABLE u").fetchall()] == ["missing write"]
    missed = session.execute("CHECK TABLE v").fetchall()
    assert [(r[0], r[2]) for r in missed] == [("n=1", "missing write")]


def test_what_a_killed_write_left(session: Session, warehouse: Path) -> None:
    delta = next((warehouse / "t").glob("**/n=1/delta_*"))
    (delta / "_attempt_1_bucket_00000").write_bytes(b"x")
    assert [problem for _, _, problem in found(session)] == ["left behind"]


def test_a_partition_the_catalog_does_not_know(session: Session) -> None:
    with pytest.raises(acidsql.PartitionNotFoundError):
        session.execute("CHECK TABLE t PARTITION (d = '2020-01-01', n = 9)")
    assert session.execute("SHOW LOCKS").fetchall() == []


def test_the_command_line_shows_what_was_read(session: Session, warehouse: Path) -> None:
    run = CliRunner().invoke(main, ["run", "--warehouse", str(warehouse), "-e", "CHECK TABLE t"])
    assert run.exit_code == 0, run.output
    assert run.output.splitlines()[-1] == "default.t: no problem found in 2 files, 2 events"


# -- what Hive wrote -------------------------------------------------------------------------------


def hive_states() -> list[str]:
    """Every state of a full-ACID table with the snapshot it was read under."""
    found = sorted(STATES.glob("*/*/expected/*.snapshot"))
    states = (p.parents[1] / p.stem for p in found)
    kinds = ("insertonly/", "/m1", "/m2", "/m3")  # insert-only tables
    names = (str(s.relative_to(STATES)) for s in states if s.is_dir())
    return [n for n in names if not any(kind in n for kind in kinds)]


def places(state: Path) -> list[Path]:
    """The table's or the partitions' directories."""
    everything = [p for p in state.rglob("*") if not parse_directory(p.parent.name)]
    held = {p.parent for p in everything if parse_directory(p.name) or parse_original_file(p.name)}
    return sorted(held)


def hive_table(name: str) -> Table:
    """With the columns where the hash depends on them."""
    case, _, state = name.split("/")
    kinds = {"b_v1": "string", "b_decimal": "decimal(10,2)", "b_varchar": "varchar(20)"}
    kinds |= {"b_char": "char(20)", "b_binary": "binary"}
    columns: tuple[Column, ...] = ()
    bucketing = None
    if case == "bucketed" and state != "b_multi" and not state.startswith("b_int-"):
        kind = parse_type(kinds.get(state, state.removeprefix("b_")))
        columns = (Column("k", parse_type("int")), Column("v", kind))
        bucketing = Bucketing(("v",), 4, 1 if state == "b_v1" else 2)
    parameters = {"transactional": "true"}
    return Table(TableName("default", "t"), columns, "", bucketing=bucketing, parameters=parameters)


@pytest.mark.parametrize("name", hive_states())
def test_what_hive_wrote_is_clean(name: str) -> None:
    case, hive, state = name.split("/")
    text = (STATES / case / hive / "expected" / f"{state}.snapshot").read_text()
    lines = dict(line.split(" ", 1) for line in text.splitlines())
    located = tuple(PartitionLocation(None, str(p)) for p in places(STATES / name))
    snapshot = TableSnapshot(
        hive_table(name), located, ValidWriteIdList.parse(lines["validWriteIds"])
    )
    assert located or state.startswith("0-")
    assert problems(snapshot, ValidTxnList.parse(lines["validTxns"])) == []
