"""What a soak must not let grow: directories, rows of the store, and the work of one round."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from acidsql.backends.storage.local import LocalStorage
from acidsql.layout.dir_names import is_hidden
from acidsql.layout.listing import ListedFile
from acidsql.model.names import TableName
from acidsql.model.snapshot import ValidTxnList
from acidsql.ports.catalog import Catalog
from acidsql.ports.engine import TableSnapshot
from acidsql.session.session import Session
from acidsql.txn.manager import TxnManager
from tests.checks import Contents, chosen, read_contents
from tests.python_engine import PythonEngine
from tests.soak.world import TABLES, THRESHOLDS, World

LISTINGS, LISTED, OPENED, STATEMENTS = "listings", "listed", "opened files", "SQL statements"

_PLACES = 8
"""More than there are tables and partitions at any time, with one for each table as a whole."""
DIRECTORIES = 1 + 2 * THRESHOLDS.delta_count
"""Of one place: a base, and as many deltas and replaced directories as ask for no compaction."""
ROWS = {
    "TXNS": 12,
    "TXN_COMPONENTS": 0,
    "COMPLETED_TXN_COMPONENTS": 2 * _PLACES,
    "TXN_TO_WRITE_ID": 12,
    "HIVE_LOCKS": 0,
    "WRITE_SET": 0,
    "MIN_HISTORY_LEVEL": 0,
    "NEXT_WRITE_ID": len(TABLES),
    "COMPACTION_QUEUE": 0,
    # Three that have succeeded, three that have failed, and two that were refused.
    "COMPLETED_COMPACTIONS": (3 + 3 + 2) * _PLACES,
    "AUX_TABLE": 3,
}
"""How many rows a table of the store may have when all is quiet."""


def store_rows(world: World) -> dict[str, int]:
    """The rows of the store's tables, read past the store."""
    if world.url is not None:
        with psycopg.connect(world.url, autocommit=True) as connection:
            return _counted(lambda t: connection.execute(f"SELECT COUNT(*) FROM acidsql.{t}"))
    with closing(sqlite3.connect(f"{world.warehouse}/.acidsql.db")) as connection:
        return _counted(lambda t: connection.execute(f"SELECT COUNT(*) FROM {t}"))


def _counted(execute: Callable[[str], Any]) -> dict[str, int]:
    return {table: execute(table).fetchone()[0] for table in ROWS}


def directories(world: World) -> dict[str, list[str]]:
    """The names of the directories of each table and partition, hidden ones too."""
    found = {}
    for table in TABLES:
        place = Path(world.warehouse, table)
        if table != "b":
            found[table] = _names(place)
            continue
        for name in _names(place):
            # What is hidden beside the partitions belongs to none of them.
            found[f"b/{name}"] = [name] if is_hidden(name) else _names(place / name)
    return found


def _names(place: Path) -> list[str]:
    return sorted(p.name for p in place.iterdir() if p.is_dir())


def excesses(world: World) -> list[str]:
    """What there is too much of, in words."""
    rows = store_rows(world)
    found = [f"{rows[t]} rows in {t}, at most {n}" for t, n in ROWS.items() if rows[t] > n]
    for place, names in directories(world).items():
        found += [f"{place} has {name}" for name in names if is_hidden(name)]
        if len(names) > DIRECTORIES:
            found.append(f"{place} has {names}, more than {DIRECTORIES}")
    return found


# -- the work of one round -------------------------------------------------------------------------


class CountingStorage(LocalStorage):
    """Counts listings, what they list, and the files that it opens."""

    def __init__(self, counts: Counter[str]) -> None:
        super().__init__()
        self._counts = counts

    def list_files(self, directory: str) -> list[ListedFile]:
        found = super().list_files(directory)
        self._counts[LISTINGS] += 1
        self._counts[LISTED] += len(found)
        return found

    def list_directories(self, directory: str) -> list[str]:
        found = super().list_directories(directory)
        self._counts[LISTINGS] += 1
        self._counts[LISTED] += len(found)
        return found

    def open_input(self, path: str) -> Any:
        self._counts[OPENED] += 1
        return super().open_input(path)


class CountingEngine(PythonEngine):
    """Counts the data files that its scans read, too."""

    def _contents(self, snapshot: TableSnapshot, txns: ValidTxnList) -> list[Contents]:
        storage: Any = self._storage
        states = chosen(snapshot, txns, storage)
        for state in states:
            read = [*([state.base] if state.base else []), *state.deltas, *state.delete_deltas]
            storage._counts[OPENED] += sum(len(directory.files) for directory in read)
        return read_contents(snapshot, states)


def _watch(session: Session, counts: Counter[str]) -> None:
    """Count each verb that the session asks of its store, and the SQL behind it."""
    store: Any = session._store
    for verb in sorted(_verbs(TxnManager) | _verbs(Catalog)):
        if callable(getattr(store, verb, None)):
            setattr(store, verb, _counting(getattr(store, verb), f"verb {verb}", counts))
    for name in ("run", "rows", "row", "value", "ask"):
        setattr(store._sql, name, _counting(getattr(store._sql, name), STATEMENTS, counts))


def _verbs(port: type) -> set[str]:
    return {name for name in vars(port) if not name.startswith("_")}


def _counting(method: Callable[..., Any], name: str, counts: Counter[str]) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        counts[name] += 1
        return method(*args, **kwargs)

    return called


def work_of_one(world: World) -> Counter[str]:
    """What a statement of each kind and one round in the background ask for, by counts.

    The statements change nothing.
    """
    counts: Counter[str] = Counter()
    storage = CountingStorage(counts)
    with world.session("meter", storage, CountingEngine) as session:
        _watch(session, counts)
        for statement in _statements():
            session.execute(statement).fetchall()
        session.run_initiator()
        session.run_worker()
        session.run_cleaner()
        session.run_housekeeper()
    return counts


def _statements() -> Iterator[str]:
    engine_key = 0  # that of no writer: no row is changed
    for table in TABLES:
        yield f"SELECT * FROM {table}"
        yield f"UPDATE {table} SET v = 'none' WHERE k = {engine_key}"
        yield f"DELETE FROM {table} WHERE k = {engine_key}"
        yield f"CHECK TABLE {table}"
    yield "SHOW TRANSACTIONS"
    yield "SHOW LOCKS"
    yield "SHOW COMPACTIONS"


def grown(before: Counter[str], after: Counter[str], factor: float) -> list[str]:
    """What there is more than ``factor`` times as much of, in words.

    >>> grown(Counter(opened=4), Counter(opened=6, listed=1), 1.5)
    ['listed: 1 instead of 0']
    """
    return [
        f"{name}: {count} instead of {before[name]}"
        for name, count in sorted(after.items())
        if count > factor * before[name]
    ]


def compact_all(session: Session) -> None:
    """Ask for a major compaction of each place; whoever serves the queue carries it out."""
    for table in TABLES:
        places: list[Any] = [None]
        if table == "b":
            store: Any = session._store
            places = [p.name for p in store.partitions(TableName("default", table))]
        for place in places:
            part = "" if place is None else f"PARTITION (p = {place.values[0]})"
            session.execute(f"ALTER TABLE {table} {part} COMPACT 'major'")
