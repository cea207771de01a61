"""acidsql and a Hive over one metastore: nothing has to be brought in step."""

from __future__ import annotations

from typing import Any

from tests.integration.hive.shared import Row, Shared


class OneMetastore(Shared):
    """A database that both have open, and both know of."""

    def _create_database(self) -> None:
        self.session.execute(f"CREATE DATABASE {self.database}")

    def acidsql(self, sql: str) -> list[Any]:
        """A statement of acidsql."""
        sql = self._begin(sql)
        return self.session.execute(sql).fetchall()

    def theirs(self, sql: str) -> list[Any]:
        """A statement of Hive."""
        sql = self._begin(sql)
        return self.hive.run(sql)

    def same(self, name: str, count: int) -> list[Row]:
        """The rows, if there are so many, all readers agree on them, and CHECK TABLE is content."""
        rows = self.rows(name)
        assert len(rows) == count, rows
        self._check(self.table(name), after_hive=True)
        return rows

    def described(self, name: str) -> dict[str, str]:
        """What Hive's DESCRIBE FORMATTED says, parameters and all, by its words."""
        pairs = {}
        for row in self.hive.run(f"DESCRIBE FORMATTED {name}"):
            first, second, third = ((value or "").strip() for value in row.values())
            pairs[first.rstrip(":") or second] = second if first else third
        return pairs

    def columns(self, name: str) -> list[tuple[str, str, str]]:
        """Names, types and comments as Hive's DESCRIBE has them."""
        rows = self.hive.run(f"DESCRIBE {name}")
        told = [tuple((value or "").strip() for value in row.values()) for row in rows]
        return [(a, b, c) for a, b, c in told if a and not a.startswith("#")]
