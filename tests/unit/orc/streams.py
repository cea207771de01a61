"""The streams of whole numbers in a file, decoded by the ORC specification and none of our code."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import BinaryIO

import numpy as np

from acidsql.orc.chunks import decompress_section
from acidsql.orc.footer import FileTail, read_section
from acidsql.orc.protobuf import as_bytes, fields, packed_numbers, read_varint, signed
from acidsql.orc.stripe import DATA, ROW_INDEX, StripeFooter, read_stripe_footer


def assert_positions(
    source: BinaryIO, tail: FileTail, keys: np.ndarray, columns: Collection[int] = range(1, 6)
) -> None:
    """Decode event columns, which are ``columns``, from where the index says that groups begin."""
    start = 0
    for stripe in tail.stripes:
        footer = read_stripe_footer(source, tail, stripe)
        for column in columns:
            values = keys[:, column - 1]
            stream = footer.find(DATA, column)
            source.seek(stream.offset)
            section = source.read(stream.length)
            index = index_of(source, tail, footer, column)
            groups = range(start, start + stripe.rows, tail.row_index_stride)
            for at, (positions, _) in zip(groups, index, strict=True):
                end = min(at + tail.row_index_stride, start + stripe.rows)
                found = decoded_from(section, positions, tail, end - at)
                assert np.array_equal(found, values[at:end])
        start += stripe.rows
    assert start == len(keys)


def index_of(
    source: BinaryIO, tail: FileTail, footer: StripeFooter, column: int
) -> list[tuple[list[int], bytes]]:
    """The positions and the statistics of each group of rows."""
    stream = footer.find(ROW_INDEX, column)
    entries = []
    for _, entry in fields(read_section(source, tail, stream.offset, stream.length)):
        parts = list(fields(as_bytes(entry)))
        positions = [p for n, value in parts if n == 1 for p in packed_numbers(value)]
        entries.append((positions, b"".join(as_bytes(value) for n, value in parts if n == 2)))
    return entries


def decoded_from(section: bytes, positions: list[int], tail: FileTail, count: int) -> np.ndarray:
    *place, skipped = positions
    if tail.compression != "none":
        section = decompress_section(section[place.pop(0) :], tail.compression, tail.block_size)
    found, length = [], 0
    for run in signed_runs(section[place[0] :]):
        found.append(run)
        length += len(run)
        if length >= skipped + count:
            break
    return np.concatenate(found)[skipped : skipped + count]


def signed_runs(stream: bytes) -> Iterator[np.ndarray]:
    """Numbers as the ORC specification encodes them: those of the encodings that we write."""
    at = 0
    while at < len(stream):
        header = stream[at]
        if header >> 6 == 0:
            width, count = (header >> 3 & 7) + 1, (header & 7) + 3
            value = signed(int.from_bytes(stream[at + 1 : at + 1 + width], "big"))
            yield np.full(count, value, np.int64)
            at += 1 + width
            continue
        code, count = header >> 1 & 31, ((header & 1) << 8 | stream[at + 1]) + 1
        at += 2
        if header >> 6 == 1:
            width = {7: 1, 15: 2, 23: 3, 27: 4, 28: 5, 29: 6, 30: 7, 31: 8}[code]
            starts = range(at, at + count * width, width)
            values = [signed(int.from_bytes(stream[n : n + width], "big")) for n in starts]
            yield np.array(values, np.int64)
            at += count * width
            continue
        assert (header >> 6, code) == (3, 0)
        first, at = read_varint(stream, at)
        step, at = read_varint(stream, at)
        yield signed(first) + signed(step) * np.arange(count, dtype=np.int64)
