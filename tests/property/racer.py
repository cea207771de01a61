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
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from acidsql.backends.storage.locations import storage_for
from acidsql.connect import _own_store
from acidsql.errors import CompactionRefusedError, TxnAbortedError
from acidsql.model.ids import TxnId
from acidsql.model.names import TableName
from acidsql.settings import Settings
from acidsql.txn.entities import (
    CompactionType,
    LockComponent,
    LockResponse,
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


def request(locks: list[tuple[TableName, LockType]]) -> list[LockComponent]:
    return [
        LockComponent(kind, table.database, table.table, None, WRITES[kind])
        for table, kind in locks
    ]


class Racer:
    def __init__(self, store: Any, witnesses: Path, seed: int) -> None:
        self.store = store
        self.witnesses = witnesses
        self.random = random.Random(seed)
        self.txn = TxnId(0)

    def round(self) -> Iterator[dict[str, Any]]:
        """Two transactions from their beginning to their end, and what was seen meanwhile.

        The second one holds no lock, so anybody may abort it.
        """
        prey = self.store.open_txn("ann", "host1")
        written = {t.table: self.store.allocate_write_id(prey, t) for t in TABLES[:1]}
        trace = self.witnesses / f"prey.{prey}"
        trace.touch()
        try:
            yield self.write()
        except BaseException:
            # Nobody shall wait for a process that has failed.
            self.store.abort_txns([self.txn])
            raise
        yield self.end({"txn": prey, "write_ids": written, "changes": []})
        trace.unlink()

    def write(self) -> dict[str, Any]:
        tables = [t for t in TABLES if self.random.random() < 0.7]
        locks = [(t, self.random.choice(list(LockType))) for t in tables]
        if locks and self.random.random() < 0.5:
            done = self.open_locked(tables, locks)
        else:
            self.txn = self.store.open_txn("ann", "host1")
            done = {"txn": self.txn, "snapshot": self.snapshot(), "write_ids": {}}
            for table in tables:
                done["write_ids"][table.table] = self.store.allocate_write_id(self.txn, table)
            if locks:
                self.wait(self.store.lock(self.txn, request(locks), "ann", "host1"))
        done["changes"] = [
            t.table for t, kind in locks if WRITES[kind] is not WriteOperation.INSERT
        ]
        with self.excluding(locks):
            self.meddle(done)
        return self.end(done)

    def end(self, done: dict[str, Any]) -> dict[str, Any]:
        """Commit, or sometimes abort."""
        done["commit_start"] = time.monotonic_ns()
        try:
            if self.random.random() < 0.2:
                self.store.abort_txn(done["txn"])
                return {**done, "end": "aborted"}
            self.store.commit_txn(done["txn"])
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

    def open_locked(
        self, tables: list[TableName], locks: list[tuple[TableName, LockType]]
    ) -> dict[str, Any]:
        """All at once. Whoever gets his locks then, and lets no other change in, cannot lose."""
        opened = self.store.open_locked("ann", "host1", TxnType.DEFAULT, tables, request(locks))
        self.txn = opened.txn_id
        alone = all(kind is not LockType.SHARED_WRITE for _, kind in locks)
        if alone and opened.in_one_step and opened.response.state is LockState.ACQUIRED:
            assert self.store.latest_txn_in_conflict(self.txn) is None
        self.wait(opened.response)
        write_ids = {table.table: write_id for table, write_id in opened.write_ids.items()}
        return {"txn": self.txn, "snapshot": self.snapshot(), "write_ids": write_ids}

    def wait(self, response: LockResponse) -> None:
        while response.state is not LockState.ACQUIRED:
            time.sleep(0.002)
            response = self.store.check_lock(response.lock_id)

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

    def meddle(self, done: dict[str, Any]) -> None:
        """Compact, clean up, or abort somebody's prey, while the locks are held."""
        match self.random.randrange(4):
            case 0:
                with suppress(CompactionRefusedError):
                    self.store.compact(self.random.choice(TABLES), None, CompactionType.MINOR)
            case 1:
                done["taken"] = self.work()
            case 2:
                done["killed"] = self.hunt()
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

    def hunt(self) -> list[int]:
        """The ids of those that were open and are aborted now."""
        prey = [int(path.suffix[1:]) for path in self.witnesses.glob("prey.*")]
        return list(self.store.abort_txns(self.random.sample(prey, min(2, len(prey)))))


def main(url: str, witnesses: str, seed: str, rounds: str) -> None:
    settings = Settings.of(witnesses, metastore=url)
    with closing(_own_store(settings, storage_for(witnesses), TxnPolicy())) as store:
        racer = Racer(store, Path(witnesses), int(seed))
        for _ in range(int(rounds)):
            for done in racer.round():
                sys.stdout.write(json.dumps(done) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
