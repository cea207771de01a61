"""Snapshots: which transactions and write ids a reader may see.

Text forms and range answers are those of Hive's ValidReadTxnList and ValidReaderWriteIdList.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain

from acidsql.model.ids import TxnId, WriteId

NONE_OPEN = 9223372036854775807
"""What Hive writes for "nothing is open": Long.MAX_VALUE."""


class Range(Enum):
    """How much of a range of write ids a snapshot sees."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ValidTxnList:
    """The transactions a snapshot sees: all up to ``high_watermark`` but open and aborted ones."""

    high_watermark: TxnId
    open: frozenset[TxnId] = frozenset()
    aborted: frozenset[TxnId] = frozenset()

    @property
    def min_open(self) -> int:
        """The least open transaction, or `NONE_OPEN`."""
        return min(self.open, default=NONE_OPEN)

    def is_valid(self, txn_id: TxnId) -> bool:
        """Whether the snapshot sees what this transaction wrote; txn 0 counts as committed."""
        if txn_id == 0:
            return True
        return (
            txn_id <= self.high_watermark and txn_id not in self.open and txn_id not in self.aborted
        )

    def is_aborted(self, txn_id: TxnId) -> bool:
        """Whether the snapshot knows the transaction as aborted."""
        return txn_id in self.aborted

    def committed_since(self, earlier: ValidTxnList) -> Iterator[TxnId]:
        """The transactions that this snapshot sees and an earlier one could not yet; ascending.

        >>> list(ValidTxnList.parse("8:7:7:5").committed_since(ValidTxnList.parse("5:2:2,5:3")))
        [2, 6, 8]
        """
        return filter(self.is_valid, map(TxnId, _unsettled(earlier, self.high_watermark)))

    def __str__(self) -> str:
        return f"{self.high_watermark}:{self.min_open}:{_join(self.open)}:{_join(self.aborted)}"

    @classmethod
    def parse(cls, text: str) -> ValidTxnList:
        """From Hive's text form ``watermark:min open:open:aborted``; "" sees everything.

        >>> str(ValidTxnList.parse("8:5:5:3"))
        '8:5:5:3'
        >>> str(ValidTxnList.parse("8:5:5-7:3"))
        '8:5:5,6,7:3'
        """
        if not text:
            return cls(TxnId(NONE_OPEN))
        mark, _, opened, aborted, *_ = [*text.split(":"), "", "", ""]
        return cls(
            TxnId(int(mark)),
            frozenset(TxnId(i) for i in _split(opened)),
            frozenset(TxnId(i) for i in _split(aborted)),
        )


@dataclass(frozen=True, slots=True)
class ValidWriteIdList:
    """The write ids of a table that a snapshot sees; ``table`` is ``db.table``, "null" if unknown.

    ``written`` is no part of Hive's list. It has the seen write ids that must have left a directory
    in a table without partitions, as far as the store knows.
    """

    table: str
    high_watermark: WriteId
    open: frozenset[WriteId] = frozenset()
    aborted: frozenset[WriteId] = frozenset()
    written: frozenset[WriteId] = field(default=frozenset(), compare=False)

    @property
    def min_open(self) -> int:
        """The least open write id, or `NONE_OPEN`."""
        return min(self.open, default=NONE_OPEN)

    @property
    def exceptions(self) -> tuple[WriteId, ...]:
        """The open and aborted write ids, ascending."""
        return tuple(sorted(self.open | self.aborted))

    def is_valid(self, write_id: WriteId) -> bool:
        """Whether the snapshot sees this write id."""
        return (
            write_id <= self.high_watermark
            and write_id not in self.open
            and write_id not in self.aborted
        )

    def committed_since(self, earlier: ValidWriteIdList) -> Iterator[WriteId]:
        """The write ids that this snapshot sees and an earlier one could not yet; ascending."""
        return filter(self.is_valid, map(WriteId, _unsettled(earlier, self.high_watermark)))

    def is_valid_base(self, write_id: WriteId) -> bool:
        """Whether a compacted base up to this id covers nothing that is open or too new.

        Aborted ids do not matter: a compaction has left their rows out.
        """
        return write_id < self.min_open and write_id <= self.high_watermark

    def range_valid(self, low: WriteId, high: WriteId) -> Range:
        """How much of ``low..high``, both inclusive, the snapshot sees."""
        if low > self.high_watermark:
            return Range.NONE
        hidden = self._count(self.exceptions, low, high) + max(0, high - self.high_watermark)
        if hidden == 0:
            return Range.ALL
        return Range.NONE if hidden == high - low + 1 else Range.SOME

    def range_aborted(self, low: WriteId, high: WriteId) -> Range:
        """How much of ``low..high``, both inclusive, is known to be aborted."""
        if low > self.high_watermark:
            return Range.NONE
        count = self._count(tuple(sorted(self.aborted)), low, high)
        if count == 0:
            return Range.NONE
        return Range.ALL if count == high - low + 1 else Range.SOME

    def may_miss(self, low: WriteId, high: WriteId) -> bool:
        """Whether one of ``low..high``, both inclusive, is not seen but may be committed by now.

        >>> ids = ValidWriteIdList.parse("db.t:7:5:5:3")
        >>> [ids.may_miss(*r) for r in ((3, 4), (4, 5), (6, 8))]
        [False, True, True]
        """
        return high > self.high_watermark or any(low <= w <= high for w in self.open)

    def first_seen_above(self, write_id: WriteId) -> WriteId | None:
        """The least higher write id that is seen, or None.

        >>> seen = ValidWriteIdList.parse("db.t:7:5:5:6")
        >>> [seen.first_seen_above(WriteId(w)) for w in (3, 4, 7)]
        [4, 7, None]
        """
        above = map(WriteId, range(write_id + 1, self.high_watermark + 1))
        return next(filter(self.is_valid, above), None)

    def sees_all_below(self, write_id: WriteId, now: ValidWriteIdList) -> bool:
        """Whether each lower write id is seen, or is aborted as a later list ``now`` knows.

        Then nobody will ever see rows of lower write ids that this snapshot does not see.

        >>> seen = ValidWriteIdList.parse("db.t:5:4:4:2")
        >>> [seen.sees_all_below(WriteId(7), ValidWriteIdList.parse(f"db.t:{now}"))
        ...  for now in ("7:7:7:2,4,6", "7:4:4,7:2,6", "7:7:7:2,4")]
        [True, False, False]
        """
        exceptions = (w for w in self.exceptions if w < write_id)
        beyond = range(self.high_watermark + 1, write_id)
        return all(w in now.aborted for w in chain(exceptions, beyond))

    def for_compactor(self) -> ValidWriteIdList:
        """The compactor's list: it ends below the least open write id; aborted ids stay aborted."""
        mark = WriteId(min(self.high_watermark, self.min_open - 1))
        return CompactorWriteIdList(
            self.table,
            mark,
            frozenset(),
            frozenset(w for w in self.aborted if w <= mark),
            self.written,
        )

    @staticmethod
    def _count(ids: tuple[WriteId, ...], low: int, high: int) -> int:
        return bisect_right(ids, high) - bisect_left(ids, low)

    def __str__(self) -> str:
        ids = f"{_join(self.open)}:{_join(self.aborted)}"
        return f"{self.table}:{self.high_watermark}:{self.min_open}:{ids}"

    @classmethod
    def parse(cls, text: str) -> ValidWriteIdList:
        """From Hive's text form ``table:watermark:min open:open:aborted``.

        >>> str(ValidWriteIdList.parse("db.t:8:5:5:3"))
        'db.t:8:5:5:3'
        """
        table, mark, _, opened, aborted, *_ = [*text.split(":"), "", "", ""]
        return cls(
            table,
            WriteId(int(mark)),
            frozenset(WriteId(i) for i in _split(opened)),
            frozenset(WriteId(i) for i in _split(aborted)),
        )


class CompactorWriteIdList(ValidWriteIdList):
    """A compactor's list: ranges are taken whole or not at all (Hive ValidCompactorWriteIdList).

    A delta that reaches above the high watermark is left alone, since it cannot be merged in part;
    aborted write ids inside a range are dropped row by row.
    """

    __slots__ = ()

    def range_valid(self, low: WriteId, high: WriteId) -> Range:
        """ALL for a range that ends at or below the high watermark, else NONE."""
        return Range.ALL if high <= self.high_watermark else Range.NONE


def _unsettled(earlier: ValidTxnList | ValidWriteIdList, mark: int) -> Iterator[int]:
    """The ids up to ``mark`` that were open in a snapshot, or that it does not reach."""
    return chain(sorted(earlier.open), range(earlier.high_watermark + 1, mark + 1))


def _join(ids: frozenset[TxnId] | frozenset[WriteId]) -> str:
    return ",".join(map(str, sorted(ids)))


def _split(text: str) -> Iterator[int]:
    """The ids of a text with commas between them; Hive 4 writes consecutive ids as a range.

    >>> list(_split("3,5-7"))
    [3, 5, 6, 7]
    """
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
