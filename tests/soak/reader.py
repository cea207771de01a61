"""The readers of a soak: each read is one of the states that the writers' journals allow."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from acidsql.errors import AcidSqlError, TxnError
from acidsql.session.session import Session
from acidsql.txn.entities import TxnState
from tests.soak.journal import ERROR, Follower, Journal, state_of
from tests.soak.world import KEYS, TABLES, World

READ = "read"
_PAUSE_S = 0.05


class Reader:
    """One session that reads all tables in one transaction, and compares."""

    def __init__(self, session: Session, followers: Sequence[Follower], journal: Journal) -> None:
        self.session, self.followers, self.journal = session, followers, journal

    def read(self) -> bool:
        """Whether a read worked. It fails only if its transaction was taken for dead."""
        for follower in self.followers:
            follower.states()
        try:
            with self.session.transaction(read_only=True):
                tables = self.tables()
        except AcidSqlError as error:
            self.journal.note(ERROR, type(error).__name__, str(error))
            return False
        allowed = {f.number: f.states() for f in self.followers}
        for number, states in allowed.items():
            found = state_of(tables, number)
            assert found in states, f"writer {number} should have one of {states}, has {found}"
        owners = {row[0] // KEYS for rows in tables.values() for row in rows}
        assert owners <= allowed.keys(), f"rows of nobody: {owners - allowed.keys()}"
        self.journal.note(READ)
        return True

    def tables(self) -> dict[str, list[tuple[Any, ...]]]:
        try:
            return {t: self.session.execute(f"SELECT * FROM {t}").fetchall() for t in TABLES}
        except TxnError:
            raise
        except AcidSqlError as error:
            store: Any = self.session._store
            mine = [t for t in store.show_txns() if t.user == self.session._user]
            if any(t.state is TxnState.OPEN for t in mine):
                raise AssertionError("a reader that is alive met an error") from error
            raise


def read(world: World, journals: Sequence[Path], path: Path, stop: Path) -> None:
    """What the process of a reader does: read once, and until there is a file ``stop``."""
    with world.session(f"r{os.getpid()}") as session:
        followers = [Follower(journal, n) for n, journal in enumerate(journals, 1)]
        reader = Reader(session, followers, Journal(path))
        has_read = False
        while not (has_read and stop.exists()):
            has_read = reader.read() or has_read
            time.sleep(_PAUSE_S)
