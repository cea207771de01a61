"""Statistics that contradict the rows; tests/property/test_footers.py has those that do not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.check.events import Findings, checked_events
from acidsql.errors import CorruptFileError
from acidsql.model.ids import WriteId
from acidsql.model.problem import ProblemKind
from acidsql.orc.footer import append_metadata, read_section, read_tail
from acidsql.orc.protobuf import as_bytes, fields, unsigned, varint_field
from acidsql.orc.reader import open_orc
from acidsql.orc.statistics import ColumnStatistics, contradiction, read_statistics
from acidsql.orc.stripe import ROW_INDEX, read_stripe_footer
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


def found(path: Path, rows: int = 4) -> list[tuple[ProblemKind, str]]:
    findings = Findings()
    with path.open("rb") as source, open_orc(source, str(path), exact=True) as opened:
        events = checked_events(opened, source, findings)
        assert sum(len(each.current) for each in events) == rows
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
        ("08c80110d804", "08c80110c803", "the greatest value is 300, not 228"),
        ("08c80110d804", "08ca0110d804", "the least value is 100, not 101"),
        # Before the bounds of k: 08 the number of values.
        ("0803120908c801", "0804120908c801", "3 values are there, not 4"),
    ],
)
def test_wrong_statistics(path: Path, old: str, new: str, what: str) -> None:
    replace(path, old, new)
    assert found(path) == [
        (KIND, f"of stripe 0, row.k: {what}"),
        (KIND, f"of stripe 0, row.k: in row group 0, {what}"),
        (KIND, f"of the file, row.k: {what}"),
    ]


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    """The values from 0 to 24,999: three groups of rows in one stripe, nothing compressed."""
    with EventWriter(str(tmp_path / "f"), columns(k="int"), "none") as writer:
        values = pa.array(range(25_000), pa.int32())
        writer.write_inserts(pa.record_batch({"k": values}), WriteId(1), P0)
    return tmp_path / "f"


@pytest.mark.parametrize(
    ("greatest", "what"),
    [
        (19_998, "in row group 1, the greatest value is 19999, not 19998"),
        (20_000, None),  # looser
    ],
)
def test_wrong_statistics_of_a_group_of_rows(groups: Path, greatest: int, what: str | None) -> None:
    """Spark then skips the group, though the stripe's statistics are right."""
    content = groups.read_bytes()
    right = varint_field(1, unsigned(10_000)) + varint_field(2, unsigned(19_999))
    assert content.count(right) == 2  # beside k, the row numbers
    at = content.rindex(right)
    wrong = varint_field(1, unsigned(10_000)) + varint_field(2, unsigned(greatest))
    groups.write_bytes(content[:at] + wrong + content[at + len(right) :])
    wanted = [] if what is None else [(KIND, f"of stripe 0, row.k: {what}")]
    assert found(groups, 25_000) == wanted


def test_an_index_of_too_few_groups(groups: Path) -> None:
    """Bytes of unknown fields take the place of the last entry."""
    tail = read_tail(str(groups))
    with groups.open("rb") as source:
        footer = read_stripe_footer(source, tail, tail.stripes[0])
        stream = footer.find(ROW_INDEX, len(tail.types) - 1)
        assert stream is not None
        index = read_section(source, tail, stream.offset, stream.length)
    *_, (_, last) = fields(index)
    start = stream.offset + len(index) - len(as_bytes(last))
    content = bytearray(groups.read_bytes())
    assert content[start - 2] == 0x0A  # field 1
    content[start - 2] = 0x7A  # field 15
    groups.write_bytes(content)
    what = "of stripe 0, row.k: the row index has 2 groups, not 3"
    assert found(groups, 25_000) == [(KIND, what)]


def test_an_unreadable_index_is_an_error(groups: Path) -> None:
    tail = read_tail(str(groups))
    content = bytearray(groups.read_bytes())
    start = tail.stripes[0].offset
    content[start : start + 9] = b"\xff" * 9
    groups.write_bytes(content)
    with pytest.raises(CorruptFileError, match="unreadable row index"):
        found(groups, 25_000)


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
