"""Two at once on one metastore: acidsql and a Hive do to each other what two Hives do.

One statement has its locks and is stopped there; another one meets it. What two Hives do to each
other is asked of two Hives, in the same way.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import acidsql
from acidsql.errors import LockTimeoutError
from acidsql.session.session import Session
from tests.integration.hive.one_metastore import Turns
from tests.integration.hive.process import HiveError

pytestmark = pytest.mark.hive

HOLDERS = {
    "select": "SELECT * FROM {t}",
    "insert": "INSERT INTO {t} VALUES (3, 'held')",
    "update": "UPDATE {t} SET v = 'held' WHERE id = 1",
    "overwrite": "INSERT OVERWRITE TABLE {t} SELECT 9, 'held'",
}
OTHERS = {
    "select": "SELECT id FROM {t}",
    "insert": "INSERT INTO {t} VALUES (4, 'other')",
    "update": "UPDATE {t} SET v = concat(v, '+') WHERE id = 2",
    "delete": "DELETE FROM {t} WHERE id = 2",
    "merge": "MERGE INTO {t} x USING (SELECT 2 AS id) s ON x.id = s.id"
    " WHEN MATCHED THEN UPDATE SET v = 'merged'"
    " WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'merged')",
    "overwrite": "INSERT OVERWRITE TABLE {t} SELECT 8, 'other'",
    "add columns": "ALTER TABLE {t} ADD COLUMNS (extra int)",
    "drop": "DROP TABLE {t}",
}
CELLS = [
    *itertools.product(["select", "insert"], ["update", "overwrite", "add columns", "drop"]),
    *itertools.product(["update"], [name for name in OTHERS if name != "drop"]),
    *itertools.product(["overwrite"], ["select", "insert", "delete"]),
]
MUCH_LIKE_OTHERS = {
    ("select", "add columns"),
    ("insert", "drop"),
    ("update", "insert"),
    ("update", "overwrite"),
}
"""Cells in which the same locks meet as in another one."""


@dataclass(frozen=True)
class Met:
    """What came of it: of the second statement at once, of the first, of the table in the end."""

    other: str
    held: str
    rows: list[tuple[Any, ...]] | None


@pytest.mark.parametrize(
    ("held", "other"),
    [
        pytest.param(*cell, marks=[pytest.mark.thorough] if cell in MUCH_LIKE_OTHERS else [])
        for cell in CELLS
    ],
    ids=lambda name: name.replace(" ", "-"),
)
def test_they_meet_as_two_hives_do(live: Turns, second: Session, held: str, other: str) -> None:
    cell = Cell(live, second, HOLDERS[held], OTHERS[other])
    two_hives = cell.play(by_hive=True, met_by_hive=True)
    assert cell.play(by_hive=True, met_by_hive=False) == two_hives
    assert cell.play(by_hive=False, met_by_hive=True) == two_hives


@dataclass
class Cell:
    """Two statements that meet, whoever runs them."""

    live: Turns
    second: Session
    held: str
    other: str
    plays: int = 0

    def play(self, *, by_hive: bool, met_by_hive: bool) -> Met:
        """On a table of its own. What waits runs again when the first has ended."""
        self.plays += 1
        name = f"t{self.plays}"
        table = f"{self.live.database}.{name}"
        self.live.session.execute(
            f"CREATE TABLE {table} (id int, v string) STORED AS ORC"
            " TBLPROPERTIES ('transactional' = 'true')"
        )
        self.live.session.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
        held, other = (sql.replace("{t}", table) for sql in (self.held, self.other))
        release = self._hold_by_hive(held) if by_hive else self._hold(held)
        run = self.live.hive.run if met_by_hive else self.live.session.execute
        met = self._outcome(lambda: run(other))
        ended = self._outcome(release)
        if met == "waits":
            assert self._outcome(lambda: run(other)) == "proceeds"
        return Met(met, ended, self._rows(name))

    def _hold_by_hive(self, sql: str) -> Callable[[], object]:
        self.live.hive.run(f"!hold first {sql}")
        return lambda: self.live.hive.run("!release first")

    def _hold(self, sql: str) -> Callable[[], object]:
        self.second.execute("BEGIN")
        self.second.execute(sql).fetchall()
        return lambda: self.second.execute("COMMIT")

    def _outcome(self, run: Callable[[], object]) -> str:
        try:
            run()
        except LockTimeoutError:
            return "waits"
        except HiveError as error:
            if "Error in acquiring locks" in str(error):
                return "waits"
            if "due to a write conflict" in str(error):
                return "conflicts"
            raise
        except acidsql.WriteConflictError:
            return "conflicts"
        return "proceeds"

    def _rows(self, name: str) -> list[tuple[Any, ...]] | None:
        found = [table for table in self.live.tables() if table.name.table == name]
        return [row[3:] for row in self.live.rows(name)] if found else None
