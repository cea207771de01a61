"""What the footers of Parquet files say of days and timestamps."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from acidsql.engines.parquet_times import OURS, WRITER, ParquetTimes, times_of
from acidsql.errors import CorruptFileError, MissingFileError, StorageError
from tests.unit.engines.tables import STORAGE

DATA = Path(__file__).parents[2] / "data" / "parquet-times"
BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("hive3-utc", OURS),
        ("hive3-berlin", ParquetTimes(zone=BERLIN)),
        ("hive4-utc", ParquetTimes(julian_days=True, julian_clocks=True)),
        ("hive4-berlin", ParquetTimes(True, True, BERLIN)),
        ("hive4-berlin-gregorian", ParquetTimes(False, True, BERLIN)),
        ("hive4-berlin-legacy", ParquetTimes(True, True, BERLIN, legacy=True)),
    ],
)
def test_what_hives_say(name: str, times: ParquetTimes) -> None:
    assert times_of(str(DATA / f"{name}.parquet"), STORAGE) == times


def written(path: Path, said: dict[bytes, bytes], *, int96: bool = True) -> str:
    """A file with a date and a timestamp, and with this in its footer."""
    rows = pa.table({"d": [dt.date(1500, 3, 1)], "t": [dt.datetime(2020, 7, 1)]})
    rows = rows.replace_schema_metadata(said)
    pq.write_table(rows, path, use_deprecated_int96_timestamps=int96)
    return str(path)


def test_what_others_say(tmp_path: Path) -> None:
    """pyarrow counts in the proleptic calendar, and 64-bit timestamps are clocks."""
    path = tmp_path / "f"
    assert times_of(written(path, {}), STORAGE) == OURS
    assert times_of(written(path, WRITER), STORAGE) == OURS
    zoned = {**WRITER, b"writer.time.zone": b"America/New_York"}
    assert times_of(written(path, zoned), STORAGE) == ParquetTimes(zone="America/New_York")
    assert times_of(written(path, zoned, int96=False), STORAGE) == OURS


def test_nanoseconds(tmp_path: Path) -> None:
    """Of a struct, too. They become microseconds, rounded down as Spark rounds those of INT96."""
    times = pa.array([-1, 1999, None], pa.timestamp("ns"))
    rows = pa.table({"s": pa.StructArray.from_arrays([times], ["t"])})
    pq.write_table(rows, tmp_path / "f")
    found = times_of(str(tmp_path / "f"), STORAGE)
    assert (found, found.is_read_by_spark) == (ParquetTimes(nanoseconds=True), False)
    shown = found.shown(rows.column("s").combine_chunks()).field("t")
    assert shown.equals(pa.array([-1, 1, None], pa.timestamp("us")))


@pytest.mark.parametrize("zone", [b"Nowhere/Land", b"' || x", b"\xff", b"../etc/passwd"])
def test_a_zone_that_is_not_known(tmp_path: Path, zone: bytes) -> None:
    path = written(tmp_path / "f", {b"writer.time.zone": zone})
    with pytest.raises(StorageError, match="which is not known"):
        times_of(path, STORAGE)


def test_a_long_footer(tmp_path: Path) -> None:
    zoned = {**WRITER, b"writer.time.zone": b"Europe/Berlin", b"note": b"x" * 200_000}
    assert times_of(written(tmp_path / "f", zoned), STORAGE) == ParquetTimes(zone=BERLIN)


def test_no_file_and_no_parquet(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        times_of(str(tmp_path / "none"), STORAGE)
    for text in ("PAR1 but not really PAR1", "PAR1", "x", "\x00" * 100):
        (tmp_path / "text").write_text(text)
        with pytest.raises(CorruptFileError, match="cannot be read as Parquet"):
            times_of(str(tmp_path / "text"), STORAGE)
