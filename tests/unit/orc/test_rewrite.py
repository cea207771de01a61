"""acidsql/orc/rewrite.py, against pyarrow's own writer and reader."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest

from acidsql.orc.footer import FileTail, original_section, read_tail
from acidsql.orc.new_tail import stripe_statistics
from acidsql.orc.rewrite import Change, NewStream, StripeParts, rewrite
from acidsql.orc.run_length import encode_progression
from acidsql.orc.stripe import DATA, ROW_INDEX

ROWS = 5000
TABLE = pa.table({"a": np.arange(ROWS) * 31 % 997, "b": [f"b{n % 7}" for n in range(ROWS)]})


def by_pyarrow(codec: str) -> io.BytesIO:
    file = io.BytesIO()
    pa_orc.write_table(TABLE, file, compression=codec, stripe_size=1)
    return file


def rewritten(source: io.BytesIO, changes: Sequence[Change]) -> io.BytesIO:
    target = io.BytesIO()
    rewrite([(source, read_tail(source))], target, changes, {"key": "value"})
    return target


def test_without_changes_all_stripes_and_statistics_stay() -> None:
    source = by_pyarrow("uncompressed")
    target = rewritten(source, [])
    before, after = read_tail(source), read_tail(target)
    assert len(before.stripes) > 1
    assert after.stripes == before.stripes
    content = source.getvalue()[: before.content_length]
    assert target.getvalue()[: after.content_length] == content
    assert stripe_statistics(target, after) == stripe_statistics(source, before)
    assert (after.metadata, after.calendar) == ({"key": "value"}, 2)


class Zeros(Change):
    """Makes every value of column 1 zero."""

    def stripe(self, parts: StripeParts, source: BinaryIO, tail: FileTail) -> StripeParts:
        zeros = original_section(encode_progression(0, 0, parts.rows), tail)
        streams = tuple(
            NewStream(DATA, 1, zeros) if (stream.kind, stream.column) == (DATA, 1) else stream
            for stream in parts.streams
            if (stream.kind, stream.column) != (ROW_INDEX, 1)
        )
        return replace(parts, streams=streams)


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy"])
def test_streams_are_replaced_and_left_out(codec: str) -> None:
    target = rewritten(by_pyarrow(codec), [Zeros()])
    assert pa_orc.ORCFile(target).read().to_pydict() == {
        "a": [0] * ROWS,
        "b": TABLE["b"].to_pylist(),
    }
