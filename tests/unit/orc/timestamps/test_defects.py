"""What bare pyarrow does wrong to timestamps and old dates, without anything of ours.

A test here fails on the day pyarrow mends its defect; docs/pyarrow.md says what can go then. Each
test also shows that our door gives the right value.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.errors import DependencyError
from acidsql.layout.arrow import Array, DataType
from acidsql.orc.exact import exact_texts
from acidsql.orc.footer import (
    FOOTER_STRIPE,
    append_metadata,
    encode,
    footer_and_postscript,
    read_section,
    read_tail,
)
from acidsql.orc.protobuf import bytes_field, fields
from acidsql.orc.run_length import decode_unsigned
from acidsql.orc.stripe import SECONDARY, read_stripe_footer
from acidsql.orc.timestamps import MendedFile, MendedSink
from acidsql.orc.timestamps.stored import decode_nanos, encode_nanos

MICROS = pa.timestamp("us")
YEAR_9999 = 253_402_300_799 * 10**6
HALF_A_SECOND = 500_000


def mended(what: str) -> str:
    return f"pyarrow {pa.__version__} has mended this; docs/pyarrow.md, {what}, says what to delete"


def written_bare(value: int, kind: DataType = MICROS, source: DataType | None = None) -> bytes:
    """A file of one value as pyarrow alone writes it, not compressed."""
    stream = io.BytesIO()
    column: Array = pa.array([value], source or pa.int64()).cast(kind)
    pa_orc.write_table(pa.table({"v": column}), stream, compression="uncompressed")
    return stream.getvalue()


def read_bare(content: bytes) -> str:
    column = pa_orc.ORCFile(pa.BufferReader(content)).read()["v"]
    return str(column.cast(pa.string())[0])


def read_mended(content: bytes) -> str:
    stream = io.BytesIO(content)
    column = MendedFile(stream, read_tail(stream), exact=True).read_stripe(0).column(0)
    return (
        str(column.cast(pa.string())[0]) if column.type == pa.date32() else exact_texts(column)[0]
    )


def in_zone(content: bytes, zone: str) -> bytes:
    """A file of one stripe with another time zone of the writer in the footer of the stripe."""
    tail = read_tail(io.BytesIO(content))
    stripe = tail.stripes[0]
    start = stripe.offset + stripe.index_length + stripe.data_length
    end = start + stripe.footer_length
    parts = fields(content[start:end])
    named = b"".join(encode(n, zone.encode() if n == 3 else value) for n, value in parts)
    footer = b""
    for number, value in fields(tail.footer):
        if number == FOOTER_STRIPE and isinstance(value, bytes):
            inner = ((n, len(named) if n == 4 else v) for n, v in fields(value))
            footer += bytes_field(number, b"".join(encode(n, v) for n, v in inner))
        elif number == 2 and isinstance(value, int):
            footer += encode(number, value + len(named) - stripe.footer_length)
        else:
            footer += encode(number, value)
    behind = content[end : tail.footer_start]
    return content[:start] + named + behind + footer_and_postscript(tail, footer)


def nanoseconds_in(content: bytes) -> list[int]:
    """The numbers in the stream of nanoseconds of the first column, as they are encoded."""
    stream = io.BytesIO(content)
    tail = read_tail(stream)
    footer = read_stripe_footer(stream, tail, tail.stripes[0])
    nanos = footer.find(SECONDARY, 1)
    assert nanos is not None
    section = read_section(stream, tail, nanos.offset, nanos.length)
    return [int(number) for number in decode_unsigned(section).values]


def test_years_outside_1677_to_2262_cannot_be_read() -> None:
    content = written_bare(YEAR_9999)
    refusal = ""
    try:
        read_bare(content)
    except pa.ArrowInvalid as error:
        refusal = str(error)
    assert "out of range for nanosecond resolution" in refusal, mended("Years")
    assert read_mended(content) == "9999-12-31 23:59:59.000000000"


def test_a_pyarrow_that_gives_wrong_years_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = written_bare(YEAR_9999)
    monkeypatch.setattr(pa, "__version__", "24.0.0")
    with pytest.raises(DependencyError, match=r"pyarrow 24\.0\.0"):
        read_mended(content)


def test_a_fraction_near_1970_is_a_second_off_in_a_file_of_another_zone() -> None:
    # ORC's half past midnight in Berlin was half past eleven in UTC, so before 1970: the stored
    # second is rounded towards 1970, and its reader has to take that back.
    content = in_zone(written_bare(1800 * 10**6 + HALF_A_SECOND), "Europe/Berlin")
    assert read_bare(content) == "1970-01-01 00:30:00.500000000", mended("Zones")
    assert read_mended(content) == "1970-01-01 00:29:59.500000000"


def test_days_of_the_hybrid_calendar_are_read_as_proleptic_ones(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(written_bare(-719164, pa.date32(), pa.int32()))
    append_metadata(str(path), read_tail(str(path)), {}, calendar=1)
    assert read_bare(path.read_bytes()) == "0000-12-30", mended("Calendar of a file read")
    assert read_mended(path.read_bytes()) == "0001-01-01"


def test_a_fraction_before_1970_is_written_as_a_negative_number(tmp_path: Path) -> None:
    value = -5 * 10**6 + HALF_A_SECOND
    (bare,) = nanoseconds_in(written_bare(value))
    assert bare >= 2**63, mended("Fractions")  # ORC's numbers here are unsigned
    path = str(tmp_path / "f")
    sink = MendedSink(path, pa.schema([("v", MICROS)]), compression="uncompressed")
    sink.write([pa.array([value], pa.int64()).cast(MICROS)])
    sink.finish(lambda tail: {})
    (ours,) = nanoseconds_in(Path(path).read_bytes())
    assert decode_nanos(np.array([ours], np.uint64)).tolist() == [HALF_A_SECOND * 1000]
    assert [ours] == encode_nanos(np.array([HALF_A_SECOND * 1000])).tolist()


def test_a_footer_names_no_calendar() -> None:
    tail = read_tail(io.BytesIO(written_bare(0)))
    assert tail.calendar is None, mended("Calendar of a file written")
