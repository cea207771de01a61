"""The initiator: asks for the compactions that tables and partitions need (Hive Initiator)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from acidsql.background.events import Action, Event, type_word
from acidsql.background.scope import BackgroundScope
from acidsql.errors import CompactionRefusedError
from acidsql.execution.compaction_need import needed_compaction
from acidsql.execution.snapshots import partition_directory
from acidsql.model.ids import NO_WRITE_ID, WriteId
from acidsql.model.names import PartitionName, TableName
from acidsql.model.table import Table, TableKind
from acidsql.txn.compaction_need import Need, Thresholds
from acidsql.txn.entities import (
    UNFINISHED,
    ChangedPlace,
    Compaction,
    CompactionOptions,
    CompactionState,
    CompactionType,
)

INITIATOR = "acidsql-initiator"
"""What SHOW COMPACTIONS names as the initiator of its entries."""
NO_AUTO_COMPACTION = "no_auto_compaction"
_Key = tuple[TableName, str | None]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a look at a place has seen of it.

    ``highest`` is the highest write id that was committed there, None if there was none. A
    compaction covers the write ids up to ``mark``. It is lower than ``highest`` if an open
    transaction has a write id of the table in between.
    """

    highest: WriteId | None
    mark: WriteId


class Initiator:
    """Looks, round after round, at what has changed since the last compaction.

    A place that needs nothing is looked at again when a compaction could cover more of it: it has a
    later write, or an open transaction with a lower write id has ended. So a round costs as much as
    has been written since the one before.
    """

    def __init__(self, thresholds: Thresholds, host: str) -> None:
        self.thresholds = thresholds
        self._host = host
        self._settled: dict[_Key, _Seen] = {}
        self._asked: dict[_Key, _Seen] = {}

    def run(self, scope: BackgroundScope) -> int:
        """One round. Returns how many compactions it has asked for.

        A place whose look fails in any way is looked at again in the next round.
        """
        changed = scope.txns.changed_places()
        here = {(place.table, place.partition) for place in changed}
        for remembered in (self._settled, self._asked):
            for key in remembered.keys() - here:
                del remembered[key]
        marks = _marks({place.table for place in changed}, scope)
        entries = scope.txns.show_compactions() if changed else []
        asked = 0
        for place in changed:
            highest = place.highest_write_id
            seen = _Seen(highest, min(marks[place.table], highest or NO_WRITE_ID))
            look = partial(self._look, place, seen, entries, scope)
            asked += scope.supervisor.attempt("initiator", look, otherwise=0, about=place.label)
        return asked

    def _look(
        self,
        place: ChangedPlace,
        seen: _Seen,
        entries: Sequence[Compaction],
        scope: BackgroundScope,
    ) -> int:
        key = place.table, place.partition
        if not place.aborted and self._settled.get(key) == seen:
            return 0
        of_place = [e for e in entries if _place(e) == key]
        if any(e.state in UNFINISHED for e in of_place):
            return 0
        if self._has_failed(of_place, place.now_ms):
            # Looked at again in the next round: time alone may end this.
            return 0
        table = scope.catalog.find_table(place.table)
        need = None if table is None else self._wanted(table, place, seen, of_place, scope)
        if table is None or need is None:
            self._settled[key] = seen
            return 0
        if need.for_cleaning and any(
            e.state is CompactionState.READY_FOR_CLEANING for e in of_place
        ):
            # An open reader keeps the cleaner from it. Another entry would have to wait as well.
            return 0
        of_database = scope.catalog.database(table.name.database).parameters
        options = CompactionOptions(table.compaction_pool(of_database))
        try:
            scope.txns.compact(
                place.table, place.partition, need.type, INITIATOR, self._host, options
            )
        except CompactionRefusedError:
            # Another initiator, or a user, was faster.
            return 0
        self._asked[key] = seen
        kind = type_word(need.type)
        event = Event(Action.ASKED, str(place.table), place.partition, kind, reason=need.reason)
        scope.told(event)
        return 1

    def _wanted(
        self,
        table: Table,
        place: ChangedPlace,
        seen: _Seen,
        of_place: Sequence[Compaction],
        scope: BackgroundScope,
    ) -> Need | None:
        """The compaction that the place needs, unless a worker found nothing to do for it."""
        if not self._is_refused(place, seen, of_place):
            return self._need(table, place, scope)
        if not place.aborted or of_place[0].type is not CompactionType.MINOR:
            return None
        # A delta may hold rows of an aborted write. If there is nothing to merge it with, only a
        # major compaction gets rid of them, and lets the store forget the write.
        need = self._need(table, place, scope)
        return None if need is None else replace(need, type=CompactionType.MAJOR)

    def _has_failed(self, newest_first: Sequence[Compaction], now_ms: int) -> bool:
        """Whether the last compactions have failed, as many in a row as the threshold says.

        If the last of them is long ago, it does not count (Hive failed.retry.time).
        """
        not_tried = (
            CompactionState.DID_NOT_INITIATE,
            CompactionState.REFUSED,
            CompactionState.ABORTED,
        )
        ended = [e for e in newest_first if e.state not in not_tried]
        last = ended[: self.thresholds.failures]
        if len(last) < self.thresholds.failures or not last:
            return False
        tried_ms = max(e.enqueued_ms or 0 for e in last)
        retry_s = self.thresholds.retry_s
        is_long_ago = 0 < retry_s * 1000 < now_ms - tried_ms
        return not is_long_ago and {e.state for e in last} == {CompactionState.FAILED}

    def _is_refused(
        self, place: ChangedPlace, seen: _Seen, newest_first: Sequence[Compaction]
    ) -> bool:
        """Whether a worker found nothing to do for the last request, and nothing came since."""
        asked = self._asked.get((place.table, place.partition)) == seen
        return asked and [e.state for e in newest_first[:1]] == [CompactionState.REFUSED]

    def _need(self, table: Table, place: ChangedPlace, scope: BackgroundScope) -> Need | None:
        if table.kind is TableKind.PLAIN:
            return None
        of_database = scope.catalog.database(table.name.database).parameters
        if not is_automatic(table.parameters, of_database):
            return None
        if place.partition is None and table.partition_columns:
            # The partitions of a dynamic write that were never named.
            return None
        thresholds = self.thresholds.of_table({**of_database, **table.parameters})
        name = PartitionName.parse(place.partition) if place.partition else None
        directory = partition_directory(scope.catalog, table, name)
        return needed_compaction(table, directory, place, thresholds, scope.txns, scope.storage)


def _marks(tables: Collection[TableName], scope: BackgroundScope) -> dict[TableName, WriteId]:
    """The highest write id of each table up to which a compaction may go now."""
    known = scope.txns.valid_write_ids(sorted(tables, key=str), scope.txns.valid_txns())
    return {table: ids.for_compactor().high_watermark for table, ids in known.items()}


def _place(entry: Compaction) -> _Key:
    return TableName(entry.database, entry.table), entry.partition


def is_automatic(of_table: Mapping[str, str], of_database: Mapping[str, str]) -> bool:
    """Whether the initiator may ask for compactions of the table: not with no_auto_compaction.

    If the database has the property, that of the table does not count (Hive isNoAutoCompactSet).

    >>> is_automatic({"NO_AUTO_COMPACTION": "true"}, {}), is_automatic({}, {})
    (False, True)
    >>> is_automatic({"no_auto_compaction": "true"}, {"no_auto_compaction": "false"})
    True
    """
    for parameters in (of_database, of_table):
        texts = {key.lower(): value for key, value in parameters.items()}
        if (text := texts.get(NO_AUTO_COMPACTION)) is not None:
            return text.lower() != "true"
    return True
