"""Footers that a hostile writer made: every one of them is an error that names the file."""

from __future__ import annotations

import datetime
import errno
import io
import random
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from acidsql.errors import CorruptFileError, MissingFileError, StorageError
from acidsql.orc.damage import naming
from acidsql.orc.footer import FileTail, footer_and_postscript, read_tail
from acidsql.orc.protobuf import bytes_field, varint_field
from acidsql.orc.reader import read_events
from acidsql.orc.statistics import may_hold_skipped_days, read_statistics
from acidsql.orc.types import file_columns
from acidsql.orc.writer import EventWriter
from tests.unit.orc.events import P0, columns


@pytest.mark.parametrize(
    "error",
    [
        ValueError("wire type 7 is unknown"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        OverflowError("too large"),
        MemoryError(),
        RecursionError("too deep"),
        IndexError("no such type"),
        KeyError("x"),
        TypeError("None"),
        AttributeError("x"),
        AssertionError(),
        struct.error("too short"),
        pa.ArrowInvalid("bad"),
        pa.ArrowNotImplementedError("bad"),
        OSError("Malformed ORC file"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_whatever_goes_wrong_names_the_file(error: Exception) -> None:
    with (
        pytest.raises(CorruptFileError, match='file "f" cannot be read as ORC') as said,
        naming("f"),
    ):
        raise error
    assert said.value.detail
    assert said.value.__cause__ is error


def test_what_the_system_refuses_is_no_damage() -> None:
    with pytest.raises(StorageError, match='file "f" cannot be read') as said, naming("f"):
        raise OSError(errno.EIO, "Input/output error")
    assert not isinstance(said.value, CorruptFileError)
    with pytest.raises(MissingFileError, match='file "f" does not exist'), naming("f"):
        raise FileNotFoundError(errno.ENOENT, "no such file")


def test_an_error_of_ours_and_an_interrupt_stay() -> None:
    for error in (StorageError("x"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as said, naming("f"):
            raise error
        assert said.value is error


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "whole"
    of = columns(k="int", d="date", v="string")
    rows = pa.record_batch(
        {
            "k": pa.array(range(100), pa.int32()),
            "d": pa.array(range(100), pa.date32()),
            "v": [str(n) for n in range(100)],
        }
    )
    with EventWriter(str(path), of, "none") as writer:
        writer.write_inserts(rows, 1, P0)
    return path


def with_footer(path: Path, change: Callable[[bytes], bytes]) -> bytes:
    """The file with another footer."""
    tail = read_tail(str(path))
    content = path.read_bytes()
    return content[: tail.footer_start] + footer_and_postscript(tail, change(tail.footer))


HOSTILE = {
    "wire type 7": lambda footer: footer + b"\x0f",
    "a name that is no text": lambda f: f + bytes_field(4, varint_field(1, 12) + b"\x1a\x01\xff"),
    "metadata that is no message": lambda footer: footer + varint_field(5, 3),
    "statistics of wire type 7": lambda footer: footer + bytes_field(7, b"\x0f"),
    "statistics that are a number": lambda footer: footer + varint_field(7, 1),
    "a stripe beyond the file": lambda f: f + bytes_field(3, varint_field(1, 2**62)),
    "a number without an end": lambda footer: footer + b"\x08" + b"\xff" * 40,
    "a length beyond all memory": lambda footer: footer + b"\x22\xff\xff\xff\xff\xff\xff\x7f",
    "nothing": lambda _: b"",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_footer(whole: Path, what: str) -> None:
    damaged = whole.with_name("damaged")
    damaged.write_bytes(with_footer(whole, HOSTILE[what]))
    with pytest.raises(CorruptFileError, match="damaged"):
        look_at_all_of(damaged)


def look_at_all_of(path: Path) -> FileTail:
    tail = read_tail(str(path))
    file_columns(tail, str(path))
    may_hold_skipped_days(tail, str(path))
    with path.open("rb") as stream:
        read_statistics(stream, tail, str(path))
    read_events(str(path))
    return tail


def test_types_inside_themselves(whole: Path) -> None:
    tail = read_tail(str(whole))
    deep = b"".join(
        bytes_field(4, varint_field(1, 10) + varint_field(2, at + 1)) for at in range(5000)
    )
    content = whole.read_bytes()[: tail.footer_start]
    damaged = content + footer_and_postscript(tail, deep)
    with pytest.raises(CorruptFileError, match="damaged"):
        file_columns(read_tail(io.BytesIO(damaged), "damaged"), "damaged")


def test_random_footers(whole: Path) -> None:
    """Any of 300 footers with some bytes exchanged is read, or an error with the file's name."""
    damaged, r = whole.with_name("damaged"), random.Random(17)
    refused = 0
    for _ in range(300):

        def change(footer: bytes) -> bytes:
            result = bytearray(footer)
            for _ in range(r.randint(1, 4)):
                result[r.randrange(len(result))] = r.randrange(256)
            return bytes(result)

        damaged.write_bytes(with_footer(whole, change))
        try:
            look_at_all_of(damaged)
        except StorageError as error:
            refused += 1
            assert "damaged" in error.message  # noqa: PT017 - either of two outcomes is right
    assert refused > 100


@pytest.mark.parametrize("stride", [0, 10_000])
def test_statistics_of_a_file_without_an_index_say_nothing(tmp_path: Path, stride: int) -> None:
    """Java's writer then counts no values, whatever days there are."""
    path = str(tmp_path / "f")
    with EventWriter(path, columns(d="date")) as writer:
        days = pa.array([datetime.date(1582, 10, 20)])
        writer.write_inserts(pa.record_batch({"d": days}), 1, P0)
    tail = replace(read_tail(path), row_index_stride=stride)
    assert may_hold_skipped_days(tail, path) == (stride == 0)
