"""An ORC file that grows: stripes of finished files are appended, each time with a whole footer.

Readers find stripes by the offsets in the last footer. So the footers that stand between the
stripes are bytes that nobody reads, and a reader that knows an earlier length of the file reads the
footer that ended there (as after Hive's OrcRecordUpdater.flush, Writer.writeIntermediateFooter).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from acidsql.errors import CorruptFileError
from acidsql.orc.damage import naming
from acidsql.orc.footer import (
    ACID_VERSION,
    KEY_INDEX,
    MAGIC,
    NANOSECONDS,
    STATS,
    FileTail,
    read_bytes,
    read_tail,
)
from acidsql.orc.new_tail import NewTail, stripe_statistics
from acidsql.orc.stripe_copy import Form


@dataclass(slots=True)
class AppendedFile:
    """What has to be known of a file to append to it: its parts are ACID files of one form.

    ``length`` is how many bytes it has, with the last footer.
    """

    length: int
    _tail: NewTail
    _keys: dict[str, str] = field(default_factory=dict)

    @classmethod
    def begin(cls, source: BinaryIO, path: str) -> AppendedFile:
        """The file that so far is just this part. CorruptFileError if it is not an ACID file."""
        tail = _acid_tail(source, path)
        file = cls(tail.length, NewTail(tail), dict(tail.metadata))
        file._add(source, path, tail, 0)
        return file

    def append(self, source: BinaryIO, path: str) -> bytes:
        """The bytes to be added to the file: the stripes of a part and a footer for all stripes.

        Row ids must go on rising from part to part. CorruptFileError if the part does not fit.
        """
        tail = _acid_tail(source, path)
        form = Form.of(self._tail.model)
        if form is None or form != Form.of(tail):
            raise CorruptFileError(
                f'file "{path}" cannot be appended', detail="Its columns or codec are others."
            )
        content, start = _content(source, tail, path)
        self._add(source, path, tail, self.length - start)
        self._keys = _merged_keys(self._keys, tail.metadata)
        content_length = self.length + len(content) - len(MAGIC)
        data = content + self._tail.encode(content_length, self._keys)
        self.length += len(data)
        return data

    def _add(self, source: BinaryIO, path: str, tail: FileTail, moved: int) -> None:
        """Add the stripes of a part, which stand this many bytes further in the file."""
        with naming(path, "has unreadable statistics"):
            for stripe, columns in zip(tail.stripes, stripe_statistics(source, tail), strict=True):
                self._tail.add(replace(stripe, offset=stripe.offset + moved), columns)


def _acid_tail(source: BinaryIO, path: str) -> FileTail:
    tail = read_tail(source, path)
    if not tail.is_acid or ACID_VERSION not in tail.metadata:
        raise CorruptFileError(f'file "{path}" is not an ACID file')
    return tail


def _content(source: BinaryIO, tail: FileTail, path: str) -> tuple[bytes, int]:
    """The bytes of all stripes, which stand one after the other, and where the first begins."""
    if not tail.stripes:
        return b"", 0
    start = tail.stripes[0].offset
    with naming(path):
        return read_bytes(source, start, tail.content_length - start), start


def _merged_keys(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    """Hive's keys for both parts: the index goes on, the counts are added up."""
    counts = [
        sum(pair)
        for pair in zip(
            map(int, first[STATS].split(",")), map(int, second[STATS].split(",")), strict=True
        )
    ]
    both = {
        **first,
        KEY_INDEX: first[KEY_INDEX] + second[KEY_INDEX],
        STATS: ",".join(map(str, counts)),
    }
    if NANOSECONDS in second:
        both[NANOSECONDS] = second[NANOSECONDS]
    return both
