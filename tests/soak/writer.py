"""The writers of a soak: real processes that change rows of their own, beside each other."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from acidsql.errors import (
    AcidSqlError,
    CommitStateUnknownError,
    CompactionRefusedError,
    StorageError,
    StreamingError,
)
from acidsql.session.session import Session
from acidsql.streaming import StreamingConnection
from acidsql.txn.entities import TxnState
from tests.soak.journal import DO, DONE, ERROR, UNDONE, Changes, Follower, Journal, State, state_of
from tests.soak.world import KEYS, TABLES, World

UNKNOWN = (CommitStateUnknownError, StorageError, StreamingError)
"""Errors after which a change may be there nevertheless."""
_TRIES = 100


class Writer:
    """One writer of its number: it knows what its rows are, and checks it after each trouble."""

    def __init__(self, session: Session, path: Path, number: int, seed: str) -> None:
        self.session, self.number = session, number
        self.engine: Any = session._engine
        self.random = random.Random(seed)
        self.journal = Journal(path)
        self.follower = Follower(path, number)
        self.resolve()

    def close(self) -> None:
        self.journal.close()

    def run(self, count: int) -> None:
        """Make so many changes, or try to."""
        for _ in range(count):
            self.random.choice(self.ways())()

    def ways(self) -> list[Callable[[], None]]:
        return [
            self.insert, self.insert, self.give, self.update, self.update, self.delete,
            self.transfer, self.transfer, self.roll_back, self.overwrite, self.empty,
            self.request,
        ]  # fmt: skip

    # -- what is known -----------------------------------------------------------------------------

    @property
    def state(self) -> State:
        self.follower.states()
        return self.follower.state

    def rows(self) -> State:
        """The own rows, of one snapshot."""
        with self.session.transaction(read_only=True):
            tables = {t: self.session.execute(f"SELECT * FROM {t}").fetchall() for t in TABLES}
        return state_of(tables, self.number)

    def resolve(self, *, is_known: bool = False) -> None:
        """Find out what became of the last change. ``is_known``: it is not there."""
        self.follower.states()
        state, pending = self.follower.state, self.follower.pending
        found = self.after_own_end()
        if pending is None:
            assert found == state, f"writer {self.number} has {found}, not {state}"
            return
        assert found == state or (found == pending and not is_known), (
            f"writer {self.number} has {found}, not {state}"
            + ("" if is_known else f" or {pending}")
        )
        self.journal.note(DONE if found == pending else UNDONE, self.follower.changes)

    def after_own_end(self) -> State:
        """The own rows, once no own transaction can commit any more."""
        for _ in range(_TRIES):
            try:
                store: Any = self.session._store
                own = self.session._user
                mine = [t for t in store.show_txns() if t.user == own]
                store.abort_txns([t.txn_id for t in mine if t.state is TxnState.OPEN])
                return self.rows()
            except AcidSqlError as error:
                self.journal.note(ERROR, type(error).__name__, str(error))
                time.sleep(0.02)
        raise AssertionError(f"writer {self.number} cannot read")

    def attempt(self, changes: Changes, act: Callable[[], object], *, end: str = DONE) -> bool:
        """Change rows, note what became of it, and say whether it went without an error."""
        self.journal.note(DO, self.follower.changes + 1, changes)
        try:
            act()
        except AcidSqlError as error:
            self.journal.note(ERROR, type(error).__name__, str(error))
            with suppress(AcidSqlError):
                self.session.execute("ROLLBACK")
            self.resolve(is_known=not isinstance(error, UNKNOWN))
            return False
        self.journal.note(end, self.follower.changes + 1)
        self.follower.states()
        return True

    # -- changes -----------------------------------------------------------------------------------

    def value(self) -> str:
        """One that no row had before."""
        return f"{self.number}.{self.follower.changes + 1}.{self.random.randrange(1000)}"

    def keys(self, table: str) -> list[int]:
        return list(self.state[table])

    def fresh_keys(self, table: str) -> list[int]:
        own = range(self.number * KEYS, self.number * KEYS + 10)
        free = sorted(set(own) - set(self.keys(table)))
        return self.random.sample(free, min(len(free), self.random.randint(1, 3)))

    def insert(self) -> None:
        rows = {key: [self.value()] for key in self.fresh_keys("a")}
        if rows:
            values = ", ".join(f"({key}, '{v}')" for key, [v] in rows.items())
            self.attempt(
                {"a": rows}, lambda: self.session.execute(f"INSERT INTO a VALUES {values}")
            )

    def give(self) -> None:
        """Rows of this process; a key has two."""
        rows = {key: [self.value(), self.value() + "'"] for key in self.fresh_keys("b")}
        given = [{"k": k, "v": v} for k, values in rows.items() for v in values]
        if rows:
            self.attempt(
                {"b": rows},
                lambda: self.session.insert("b", given, partition={"p": self.number}),
            )

    def fill(self) -> None:
        """Have rows in each own place."""
        for _ in range(2):
            self.insert()
            self.give()

    def set_value(self, table: str, key: int, value: str) -> None:
        self.engine.key, self.engine.change = key, lambda _: value
        self.session.execute(f"UPDATE {table} SET v = '{value}' WHERE k = {key}{self.only(table)}")

    def only(self, table: str) -> str:
        return f" AND p = {self.number}" if table == "b" else ""

    def updated(self, table: str) -> tuple[int, str, Changes] | None:
        """A key, its next value, and that as changes; None without rows."""
        keys = self.keys(table)
        if not keys:
            return None
        key, value = self.random.choice(keys), self.value()
        return key, value, {table: {key: [value] * len(self.state[table][key])}}

    def update(self) -> None:
        table = self.random.choice("ab")
        if (found := self.updated(table)) is not None:
            key, value, changes = found
            self.attempt(changes, lambda: self.set_value(table, key, value))

    def delete(self) -> None:
        table = self.random.choice("ab")
        if keys := self.keys(table):
            self.remove(table, self.random.choice(keys))

    def remove(self, table: str, key: int) -> None:
        self.engine.key = key
        sql = f"DELETE FROM {table} WHERE k = {key}{self.only(table)}"
        self.attempt({table: {key: []}}, lambda: self.session.execute(sql))

    def transfer(self, end: str = DONE) -> None:
        """One transaction over two tables: both have the change, or neither has."""
        in_a, in_b = self.updated("a"), self.updated("b")
        if in_a is None or in_b is None:
            return

        def act() -> None:
            self.session.execute("BEGIN")
            self.set_value("a", *in_a[:2])
            self.set_value("b", *in_b[:2])
            self.session.execute("COMMIT" if end == DONE else "ROLLBACK")

        self.attempt({**in_a[2], **in_b[2]}, act, end=end)

    def roll_back(self) -> None:
        self.transfer(end=UNDONE)

    def overwrite(self) -> None:
        gone: dict[int, list[str]] = {key: [] for key in self.keys("b")}
        rows = {key: [self.value()] for key in self.fresh_keys("b")}
        if rows:
            values = ", ".join(f"({key}, '{v}', {self.number})" for key, [v] in rows.items())
            sql = f"INSERT OVERWRITE b VALUES {values}"
            self.attempt({"b": {**gone, **rows}}, lambda: self.session.execute(sql))

    def empty(self, what: str = "TRUNCATE TABLE b") -> None:
        """Remove all rows of the own partition, if there are any."""
        gone: dict[int, list[str]] = {key: [] for key in self.keys("b")}
        if gone:
            sql = f"{what} PARTITION (p = {self.number})"
            self.attempt({"b": gone}, lambda: self.session.execute(sql))

    def drop(self) -> None:
        """Drop the own partition. It is gone at once for readers that are at work, too."""
        self.empty("ALTER TABLE b DROP")

    def request(self) -> None:
        """Ask for a compaction by hand, mostly for one that gives rows new ids."""
        kind = self.random.choice(["rebalance", "rebalance", "minor", "major"])
        table = self.random.choice("as")
        try:
            self.session.execute(f"ALTER TABLE {table} COMPACT '{kind}'")
        except (CompactionRefusedError, StorageError) as error:
            self.journal.note(ERROR, type(error).__name__, str(error))


class Streamer(Writer):
    """A writer that streams: each of its keys has the rows of one transaction."""

    def __init__(self, session: Session, path: Path, number: int, seed: str) -> None:
        self.connection: StreamingConnection | None = None
        super().__init__(session, path, number, seed)

    def close(self) -> None:
        self.disconnect()
        super().close()

    def ways(self) -> list[Callable[[], None]]:
        return [self.stream] * 5 + [self.abort, self.drop_oldest, self.disconnect, self.request]

    def stream(self, end: str = DONE) -> None:
        key = self.number * KEYS + (self.follower.changes + 1) % KEYS
        rows = [self.value() + "." * at for at in range(self.random.randint(1, 4))]

        def act() -> None:
            connection = self.connected()
            connection.begin_transaction()
            connection.write([{"k": key, "v": value} for value in rows])
            if end == DONE:
                connection.commit_transaction()
            else:
                connection.flush()
                connection.abort_transaction()

        self.attempt({"s": {key: rows}}, act, end=end)

    def fill(self) -> None:
        for _ in range(2):
            self.stream()

    def abort(self) -> None:
        self.stream(end=UNDONE)

    def drop_oldest(self) -> None:
        for key in self.keys("s")[:-6]:
            self.remove("s", key)

    def connected(self) -> StreamingConnection:
        if self.connection is None:
            size = self.random.choice([1, 3, 5])
            builder = StreamingConnection.builder().table("s").transaction_batch_size(size)
            self.connection = builder.connect(self.session)
        return self.connection

    def disconnect(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            with suppress(AcidSqlError):
                connection.close()

    def after_own_end(self) -> State:
        self.disconnect()
        return super().after_own_end()


def write(world: World, path: Path, number: int, seed: str, count: int, streams: bool) -> None:
    """What the process of a writer does."""
    kind = Streamer if streams else Writer
    with (
        world.session(f"w{number}") as session,
        closing(kind(session, path, number, seed)) as writer,
    ):
        writer.run(count)
