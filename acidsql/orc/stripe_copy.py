"""A local ORC file made of stripes of other files, copied byte for byte.

A stripe says in its own footer how it is encoded, and its index counts from its own beginning, so a
stripe can stand anywhere in any file that agrees on types, compression and calendar (ORC
specification, Stripes). The tail is made anew from the statistics of the stripes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import BinaryIO

from acidsql.errors import StorageError
from acidsql.orc.damage import naming
from acidsql.orc.footer import (
    FOOTER_CALENDAR,
    FOOTER_STRIDE,
    FOOTER_STRIPE,
    FOOTER_TYPE,
    FOOTER_WRITER,
    MAGIC,
    FileTail,
    Stripe,
    pieces,
)
from acidsql.orc.new_tail import NewTail, stripe_statistics
from acidsql.orc.protobuf import as_bytes, fields
from acidsql.orc.stripe import read_stripe_footer

_POSTSCRIPT_LENGTHS = frozenset({1, 5})
_POSTSCRIPT_FIELDS = frozenset({1, 2, 3, 4, 5, 6, 8000})
_STRIPE_FIELDS = frozenset(range(1, 6))
_FOOTER_FORM = frozenset({FOOTER_TYPE, FOOTER_STRIDE, FOOTER_WRITER, FOOTER_CALENDAR})
"""The footer's fields that must agree: types, row index stride, writer, calendar."""
_FOOTER_FIELDS = frozenset({*range(1, 10), FOOTER_CALENDAR, 12})
"""All fields that are understood; 12 names the version of the writer's software."""


@dataclass(frozen=True, slots=True)
class Form:
    """What a file says of all of its stripes. Stripes may move between files of one form."""

    postscript: tuple[tuple[int, int | bytes], ...]
    footer: tuple[tuple[int, int | bytes], ...]

    @classmethod
    def of(cls, tail: FileTail) -> Form | None:
        """The form of a file. None if the file says more than this module understands."""
        try:
            postscript, footer = list(fields(tail.postscript)), list(fields(tail.footer))
            stripes = [dict(fields(as_bytes(v))) for n, v in footer if n == FOOTER_STRIPE]
        except ValueError:
            return None
        if not {n for n, _ in postscript} <= _POSTSCRIPT_FIELDS:
            return None
        if not {n for n, _ in footer} <= _FOOTER_FIELDS:
            return None
        if any(not stripe.keys() <= _STRIPE_FIELDS for stripe in stripes):
            return None
        return cls(
            tuple(sorted((p for p in postscript if p[0] not in _POSTSCRIPT_LENGTHS), key=repr)),
            tuple(f for f in footer if f[0] in _FOOTER_FORM),
        )


class StripeCopy:
    """Writes one ORC file at a local path. ``model`` is the tail of a file of the form it gets.

    A context manager: an error removes the file. StorageError when the disk refuses.
    """

    def __init__(self, path: str, model: FileTail) -> None:
        self.path = path
        self._tail = NewTail(model)
        try:
            self._file: BinaryIO = open(path, "wb")  # noqa: SIM115 - closed by finish and discard
        except OSError as error:
            raise self._refused(error) from error
        try:
            self._write(MAGIC)
        except StorageError:
            self.discard()
            raise

    @property
    def stripes(self) -> int:
        """The number of stripes written so far."""
        return len(self._tail.stripes)

    def add(self, source: BinaryIO, tail: FileTail, numbers: Iterable[int], path: str = "") -> None:
        """Copy stripes of an opened file, whose form must be the model's. ``path`` names the file.

        CorruptFileError if a stripe is not whole.
        """
        with naming(path, "has unreadable statistics"):
            statistics = stripe_statistics(source, tail)
        for number in numbers:
            stripe = tail.stripes[number]
            offset = self._file.tell()
            with naming(path):
                read_stripe_footer(source, tail, stripe)
                for piece in pieces(source, stripe.offset, stripe.length):
                    self._write(piece)
            lengths = stripe.index_length, stripe.data_length, stripe.footer_length
            with naming(path, "has unreadable statistics"):
                self._tail.add(Stripe(offset, *lengths, stripe.rows), statistics[number])

    def finish(self, metadata: Mapping[str, str]) -> int:
        """Write the tail with this user metadata, and close the file. Returns its size in bytes."""
        content_length = self._file.tell() - len(MAGIC)
        self._write(self._tail.encode(content_length, metadata))
        size = self._file.tell()
        try:
            self._file.close()
        except OSError as error:
            raise self._refused(error) from error
        return size

    def discard(self) -> None:
        """Close and remove the file. Idempotent."""
        with suppress(OSError):
            self._file.close()
        with suppress(FileNotFoundError):
            os.remove(self.path)

    def __enter__(self) -> StripeCopy:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.discard()

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise self._refused(error) from error

    def _refused(self, error: OSError) -> StorageError:
        return StorageError(f'file "{self.path}" cannot be written', detail=str(error))
