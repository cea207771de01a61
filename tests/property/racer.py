"""One of several processes that use a store at once; prints what it did, as lines of JSON.

Arguments: metastore URL, directory of the witnesses, seed, rounds. Times are those of a clock that
all processes of a machine share.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from acidsql.connect import _store
from acidsql.errors import CompactionRefusedError, TxnAbortedError, TxnError
from acidsql.filesystems import storage_for
from acidsql.model.names import TableName
from acidsql.settings import Settings
from acidsql.txn.entities import (
    CompactionType,
    LockComponent,
    LockState,
    LockType,
    TxnType,
    WriteOperation,
)
from acidsql.txn.policy import TxnPolicy

TABLES = [TableName("default", name) for name in ("a", "b")]
WRITES = {
    LockType.SHARED_READ: WriteOperation.INSERT,
    LockType.SHARED_WRITE: WriteOperation.UPDATE,
    LockType.EXCL_WRITE: WriteOperation.DELETE,
    LockType.EXCLUSIVE: WriteOperation.UPDATE,
}


class Racer:
    def __init__(self, store: Any, witnesses: Path, seed: int) -> None:
        self.store = store
        self.witnesses = witnesses
        self.random = random.Random(seed)

    def round(self) -> dict[str, Any]:
        """One transaction from its beginning to its end, and what was seen meanwhile."""
        txn = self.store.open_txn("ann", "host1")
        done: dict[str, Any] = {"txn": txn, "snapshot": self.snapshot(), "write_ids": {}}
        try:
            tables = [t for t in TABLES if self.random.random() < 0.7]
            locks = [(t, self.random.choice(list(LockType))) for t in tables]
            for table in tables:
                done["write_ids"][table.table] = self.store.allocate_write_id(txn, table)
            if locks:
                self.lock(txn, locks)
            done["changes"] = [
                t.table for t, kind in locks if WRITES[kind] is not WriteOperation.INSERT
            ]
            with self.excluding(locks):
                self.meddle(txn, done)
            done["commit_start"] = time.monotonic_ns()
            if self.random.random() < 0.2:
                self.store.abort_txn(txn)
                return {**done, "end": "aborted"}
            self.store.commit_txn(txn)
        except TxnAbortedError:
            return {**done, "end": "aborted"}
        return {**done, "end": "committed", "commit_end": time.monotonic_ns()}

    def snapshot(self) -> dict[str, Any]:
        start = time.monotonic_ns()
        txns = self.store.valid_txns()
        end = time.monotonic_ns()
        lists = self.store.valid_write_ids(TABLES, txns)
        return {
            "start": start,
            "end": end,
            "mark": txns.high_watermark,
            "hidden": sorted(txns.open | txns.aborted),
            "write_marks": {t.table: lists[t].high_watermark for t in TABLES},
            "hidden_write_ids": {t.table: sorted(lists[t].open | lists[t].aborted) for t in TABLES},
        }

    def lock(self, txn: int, locks: list[tuple[TableName, LockType]]) -> None:
        request = [
            LockComponent(kind, table.database, table.table, None, WRITES[kind])
            for table, kind in locks
        ]
        response = self.store.lock(txn, request, "ann", "host1")
        try:
            while response.state is not LockState.ACQUIRED:
                time.sleep(0.002)
                response = self.store.check_lock(response.lock_id)
        except TxnError:
            self.store.heartbeat(txn)
            raise

    @contextmanager
    def excluding(self, locks: list[tuple[TableName, LockType]]) -> Iterator[None]:
        """Witnesses of exclusive locks: a file that two cannot make at once."""
        held: list[Path] = []
        shared: list[Path] = []
        for table, kind in locks:
            alone = self.witnesses / f"{table.table}.alone"
            writer = self.witnesses / f"{table.table}.writer"
            match kind:
                case LockType.EXCLUSIVE:
                    held += [alone, writer]
                case LockType.EXCL_WRITE:
                    held.append(writer)
                    shared.append(alone)
                case LockType.SHARED_WRITE:
                    shared += [alone, writer]
                case LockType.SHARED_READ:
                    shared.append(alone)
        for path in held:
            path.touch(exist_ok=False)
        assert not any(path.exists() for path in shared)
        try:
            yield
            assert not any(path.exists() for path in shared)
        finally:
            for path in held:
                path.unlink()

    def meddle(self, txn: int, done: dict[str, Any]) -> None:
        """Compact, or abort somebody else, while the locks are held."""
        table = self.random.choice(TABLES)
        match self.random.randrange(4):
            case 0:
                try:
                    self.store.compact(table, None, CompactionType.MINOR)
                except CompactionRefusedError:
                    done["refused"] = True
            case 1:
                done["taken"] = self.work()
            case 2:
                done["aborted"] = self.abort(txn - self.random.randrange(1, 4))
            case _:
                self.store.time_out_txns()
                self.store.trim()

    def work(self) -> int | None:
        entry = self.store.next_compaction("worker")
        if entry is None:
            return None
        txn = self.store.open_txn("ann", "host1", TxnType.COMPACTION)
        self.store.compaction_started(entry.compaction_id, txn, 1)
        self.store.mark_compacted(entry.compaction_id)
        return int(entry.compaction_id)

    def abort(self, other: int) -> int | None:
        """Nothing it holds is witnessed any more: its owner may be at it, unless it only waits."""
        waiting = {k.txn_id for k in self.store.show_locks() if k.state is LockState.WAITING}
        if other not in waiting:
            return None
        try:
            self.store.abort_txn(other, "meddled with")
        except TxnError:
            return None
        return other


def main(url: str, witnesses: str, seed: str, rounds: str) -> None:
    settings = Settings.of(witnesses, metastore=url)
    with closing(_store(settings, storage_for(witnesses), TxnPolicy())) as store:
        racer = Racer(store, Path(witnesses), int(seed))
        for _ in range(int(rounds)):
            sys.stdout.write(json.dumps(racer.round()) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
