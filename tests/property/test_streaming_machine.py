"""Random streams by several connections, beside other writes, against a model in plain Python."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from acidsql.backends.memory import MemoryStore
from acidsql.backends.storage.local import LocalStorage
from acidsql.errors import SerializationError, StreamingStateError, TxnAbortedError
from acidsql.model.names import TableName
from acidsql.model.problem import ProblemKind
from acidsql.session.session import Session
from acidsql.streaming import StreamingConnection
from acidsql.txn.entities import TxnState
from acidsql.txn.policy import TxnPolicy
from tests.checks import check_table
from tests.python_engine import PythonEngine

T = TableName("default", "t")
Row = tuple[int, str, str]


class Stream:
    """A connection, and what its current transaction has written."""

    def __init__(self, connection: StreamingConnection, static: str | None) -> None:
        self.connection = connection
        self.static = static
        self.written: list[Row] = []
        self.dead = False


class Streams(RuleBasedStateMachine):
    """A partitioned and bucketed table, and how often each row is in it."""

    streams = Bundle("streams")

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.now_ms = 1_000_000
        store = MemoryStore(lambda: self.now_ms, TxnPolicy(), self.directory)
        self.store, storage = store, LocalStorage()
        self.session = Session(
            store=store, engine=PythonEngine(storage, None, {}), storage=storage,
            policy=TxnPolicy(), warehouse=self.directory, user="u", host="h",
        )  # fmt: skip
        self.session.execute(
            "CREATE TABLE t (k int, v string) PARTITIONED BY (p string)"
            " CLUSTERED BY (k) INTO 2 BUCKETS TBLPROPERTIES ('transactional' = 'true')"
        )
        self.rows: list[Row] = []
        self.number = 0
        self.all: list[Stream] = []

    def teardown(self) -> None:
        for stream in self.all:
            stream.connection.close()
        self.look()
        assert not [t for t in self.store.show_txns() if t.state is TxnState.OPEN]
        # Those of a batch that others have ended stay: its writer may not touch them any more.
        sides = list(Path(self.directory).rglob("*_flush_length"))
        assert not sides or any(stream.dead for stream in self.all)
        self.session.close()
        shutil.rmtree(self.directory)

    # -- streams -----------------------------------------------------------------------------------

    @rule(target=streams, size=st.sampled_from([1, 2, 4]), static=st.none() | st.sampled_from("ab"))
    def connect(self, size: int, static: str | None) -> Stream:
        builder = StreamingConnection.builder().table("t").transaction_batch_size(size)
        if static is not None:
            builder = builder.static_partition_values([static])
        stream = Stream(builder.connect(self.session), static)
        self.all.append(stream)
        return stream

    @rule(stream=streams)
    def begin(self, stream: Stream) -> None:
        if stream.connection.in_transaction:
            return
        stream.written = []
        try:
            stream.connection.begin_transaction()
        except StreamingStateError:
            assert stream.dead
        except TxnAbortedError:
            assert stream.dead

    @rule(stream=streams, count=st.integers(0, 5), partition=st.sampled_from("abc"),
          bad=st.booleans(), flushes=st.booleans())  # fmt: skip
    def write(self, stream: Stream, count: int, partition: str, bad: bool, flushes: bool) -> None:
        if not stream.connection.in_transaction or stream.dead:
            return
        rows = []
        for _ in range(count):
            self.number += 1
            rows.append((self.number, f"v{self.number}", stream.static or partition))
        names = ("k", "v") if stream.static else ("k", "v", "p")
        records: list[Any] = [dict(zip(names, row, strict=False)) for row in rows]
        if bad:
            records.insert(count // 2, {"k": "no number"})
        with pytest.raises(SerializationError) if bad else nullcontext() as caught:
            stream.connection.write(records)
        if caught is not None:
            assert [number for number, _, _ in caught.value.rejected] == [count // 2 + 1]
        stream.written += rows
        if flushes:
            stream.connection.flush()

    @rule(stream=streams)
    def commit(self, stream: Stream) -> None:
        if not stream.connection.in_transaction:
            return
        try:
            stream.connection.commit_transaction()
            assert not stream.dead
            self.rows += stream.written
        except TxnAbortedError:
            assert stream.dead

    @rule(stream=streams)
    def abort(self, stream: Stream) -> None:
        if stream.connection.in_transaction and not stream.dead:
            stream.connection.abort_transaction()

    @rule(stream=consumes(streams))
    def close(self, stream: Stream) -> None:
        stream.connection.close()

    # -- others ------------------------------------------------------------------------------------

    @rule(partition=st.sampled_from("abc"))
    def insert(self, partition: str) -> None:
        self.number += 1
        row = (self.number, "insert", partition)
        self.session.execute(f"INSERT INTO t VALUES ({row[0]}, 'insert', '{partition}')")
        self.rows.append(row)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if not self.rows:
            return
        row = data.draw(st.sampled_from(sorted(self.rows)))
        engine: Any = self.session._engine
        engine.key = row[0]
        self.session.execute(f"DELETE FROM t WHERE k = {row[0]}")
        self.rows.remove(row)

    @rule(partition=st.sampled_from("abc"), kind=st.sampled_from(["minor", "major"]))
    def compact(self, partition: str, kind: str) -> None:
        names = [str(p.name) for p in self.store.partitions(T)]
        if f"p={partition}" in names:
            self.session.execute(f"ALTER TABLE t PARTITION (p = '{partition}') COMPACT '{kind}'")
            self.session.run_worker()

    @rule()
    def clean(self) -> None:
        self.session.run_cleaner()

    @rule(stream=streams)
    def time_out(self, stream: Stream) -> None:
        """The transactions of a stream are ended by others, as after a long silence."""
        batch = stream.connection._batches._batch
        if batch is not None and batch.remaining:
            self.store.abort_txns(batch.txn_ids[batch._at :])
            stream.dead = True

    @invariant()
    def look(self) -> None:
        left_behind = {ProblemKind.LEFT_BEHIND} if any(s.dead for s in self.all) else set()
        assert sorted(check_table(self.store, T, frozenset(left_behind))) == sorted(self.rows)


TestStreams = Streams.TestCase
TestStreams.settings = settings(
    max_examples=settings().max_examples // 4, stateful_step_count=30, deadline=None
)
