"""Statistics that contradict the rows; tests/property/test_footers.py has those that do not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.check.events import Findings, checked_events
from acidsql.errors import CorruptFileError
from acidsql.model.ids import WriteId
from acidsql.model.problem import ProblemKind
from acidsql.orc.footer import append_metadata, read_tail
from acidsql.orc.reader import open_orc
from acidsql.orc.statistics import ColumnStatistics, contradiction, read_statistics
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import P0, columns

KIND = ProblemKind.WRONG_STATISTICS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Values 100, 200, 300 and a null, nothing compressed."""
    values = pa.array([100, 200, 300, None], pa.int32())
    with EventWriter(str(tmp_path / "f"), columns(k="int"), "none") as writer:
        writer.write_inserts(pa.record_batch({"k": values}), WriteId(1), P0)
    return tmp_path / "f"


def found(path: Path) -> list[tuple[ProblemKind, str]]:
    findings = Findings()
    with path.open("rb") as source, open_orc(source, str(path), exact=True) as opened:
        assert sum(len(events.current) for events in checked_events(opened, source, findings)) == 4
    return list(findings)


def replace(path: Path, old: str, new: str) -> None:
    content = path.read_bytes()
    assert content.count(bytes.fromhex(old)) >= 2
    path.write_bytes(content.replace(bytes.fromhex(old), bytes.fromhex(new)))


def test_old_days_of_another_calendar_are_not_compared(tmp_path: Path) -> None:
    # As in Hive 4's files: bounds in the Julian calendar, values in the proleptic one.
    path, day = tmp_path / "f", -141_428
    values = {
        "d": pa.array([day, 0, None, 1], pa.int32()).cast(pa.date32()),
        "ts": pa.array([day * 86_400_000_000, 0, None, 1], pa.timestamp("us")),
    }
    with EventWriter(str(path), columns(d="date", ts="timestamp"), "none") as writer:
        writer.write_inserts(pa.record_batch(values), WriteId(1), P0)
    assert found(path) == []
    append_metadata(str(path), read_tail(str(path)), {}, calendar=1)
    assert found(path) == []


def test_right_statistics_are_no_finding(path: Path) -> None:
    assert found(path) == []


# Integer statistics: 08 least, 10 greatest; signed numbers are zigzag-encoded.
@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("08c80110d804", "08c80110c803", "row.k: the greatest value is 300, not 228"),
        ("08c80110d804", "08ca0110d804", "row.k: the least value is 100, not 101"),
        # Before the bounds of k: 08 the number of values.
        ("0803120908c801", "0804120908c801", "row.k: 3 values are there, not 4"),
    ],
)
def test_wrong_statistics(path: Path, old: str, new: str, what: str) -> None:
    replace(path, old, new)
    assert found(path) == [(KIND, f"of stripe 0, {what}"), (KIND, f"of the file, {what}")]


def test_looser_bounds_lose_no_row(path: Path) -> None:
    replace(path, "08c80110d804", "08c60110da04")
    assert found(path) == []


def test_nulls_it_denies() -> None:
    said, actual = ColumnStatistics(1, False, 1, 1), ColumnStatistics(1, True, 1, 1)
    assert contradiction(said, actual) == "nulls are there, against the statistics"
    assert contradiction(ColumnStatistics(1), actual) is None


def test_unreadable_statistics_are_an_error(path: Path) -> None:
    tail = read_tail(str(path))
    metadata_at = tail.length - 1 - len(tail.postscript) - tail.footer_length - 1
    content = bytearray(path.read_bytes())
    content[metadata_at - 30 : metadata_at] = b"\xff" * 30
    path.write_bytes(content)
    with path.open("rb") as source, pytest.raises(CorruptFileError, match="statistics"):
        read_statistics(source, tail, str(path))
