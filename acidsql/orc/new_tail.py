"""The tail of an ORC file that is put together of stripes which were written elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import BinaryIO

from acidsql.orc.footer import (
    FOOTER_CONTENT_LENGTH,
    FOOTER_METADATA,
    FOOTER_ROWS,
    FOOTER_STATISTICS,
    FOOTER_STRIPE,
    FOOTER_TYPE,
    FileTail,
    Stripe,
    encode,
    footer_and_postscript,
    metadata_message,
    original_section,
    read_section,
    stripe_message,
)
from acidsql.orc.protobuf import as_bytes, bytes_field, fields, varint_field
from acidsql.orc.statistics_merge import merged_columns

_STRIPE_STATISTICS = _COLUMN = 1
_VALUES, _HAS_NULL = 1, 10
_OWN = frozenset(
    {FOOTER_CONTENT_LENGTH, FOOTER_STRIPE, FOOTER_METADATA, FOOTER_ROWS, FOOTER_STATISTICS}
)
"""The footer's fields that each file has of its own."""


class NewTail:
    """Collects stripes. What all stripes must agree on is taken from ``model``, a file's tail."""

    def __init__(self, model: FileTail) -> None:
        self.model = model
        self.stripes: list[Stripe] = []
        self._of_stripes = bytearray()
        self._of_file: Sequence[bytes] = ()

    def add(self, stripe: Stripe, statistics: Sequence[bytes]) -> None:
        """Add a stripe that stands in the new file. ``statistics`` are as in `stripe_statistics`.

        ValueError if they are malformed.
        """
        self._of_file = (
            merged_columns([self._of_file, statistics]) if self.stripes else tuple(statistics)
        )
        message = b"".join(bytes_field(_COLUMN, column) for column in statistics)
        self._of_stripes += bytes_field(_STRIPE_STATISTICS, message)
        self.stripes.append(stripe)

    def encode(self, content_length: int, metadata: Mapping[str, str]) -> bytes:
        """The bytes behind the stripes, with this user metadata.

        ``content_length`` is that of all that comes before, without the magic at the beginning, as
        pyarrow counts it.
        """
        section = original_section(bytes(self._of_stripes), self.model)
        statistics = self._of_file if self.stripes else _statistics_of_nothing(self.model)
        own: list[tuple[int, int | bytes]] = [
            (FOOTER_CONTENT_LENGTH, content_length),
            *((FOOTER_STRIPE, stripe_message(stripe)) for stripe in self.stripes),
            *((FOOTER_METADATA, metadata_message(*item)) for item in metadata.items()),
            (FOOTER_ROWS, sum(stripe.rows for stripe in self.stripes)),
            *((FOOTER_STATISTICS, column) for column in statistics),
        ]
        others = (each for each in fields(self.model.footer) if each[0] not in _OWN)
        # In order, as other writers have them. The types then stand between the stripes and the
        # number of rows: no damaged byte hides both, which must agree.
        footer = b"".join(encode(*each) for each in sorted([*own, *others], key=itemgetter(0)))
        return section + footer_and_postscript(self.model, footer, len(section))


def _statistics_of_nothing(model: FileTail) -> Sequence[bytes]:
    """The statistics of a file without stripes: each of the model's columns has no value."""
    count = sum(number == FOOTER_TYPE for number, _ in fields(model.footer))
    return [varint_field(_VALUES, 0) + varint_field(_HAS_NULL, 0)] * count


def stripe_statistics(source: BinaryIO, tail: FileTail) -> list[list[bytes]]:
    """For each stripe of a file the ColumnStatistics messages of its columns.

    ValueError if a stripe or a column has none, or they cannot be read.
    """
    length = tail.footer_start - tail.content_length
    section = read_section(source, tail, tail.content_length, length)
    result = [
        [as_bytes(column) for n, column in fields(as_bytes(value)) if n == _COLUMN]
        for number, value in fields(section)
        if number == _STRIPE_STATISTICS
    ]
    if [len(stripe) for stripe in result] != [len(tail.types)] * len(tail.stripes):
        raise ValueError("the stripes have statistics of other columns")
    return result
