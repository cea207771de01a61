"""acidsql on Hive ACID tables."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from engine import SOURCE, Engine, as_text, link_tree
from workload import CHECK, MERGE_ROWS, merge_source

import acidsql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row


class AcidSqlEngine(Engine):
    """A warehouse per copy, with hard-linked data files and its own transaction store."""

    session: acidsql.Session | None = None

    def prepare(self) -> None:
        columns = ", ".join(
            f"{field.name} {field.dataType.simpleString()}"
            for field in self.spark.table(SOURCE).schema
        )
        self._open(self.new_directory("loaded"))
        self.rows(
            f"CREATE TABLE {self.table()} ({columns}) STORED AS ORC "
            "TBLPROPERTIES ('transactional' = 'true', 'orc.compress' = 'ZSTD')"
        )

    def load(self) -> None:
        self.rows(f"INSERT INTO {self.table()} SELECT * FROM {SOURCE}")

    def fresh(self) -> None:
        loaded = self.loaded()
        copy = self.new_directory("copy")
        self._close()
        copy_warehouse(loaded, copy)
        self.remove("copy", but=copy)
        self.remove("loaded", but=loaded)
        self._open(copy)
        self.check()

    def compact(self) -> None:
        self.rows(f"ALTER TABLE {self.table()} COMPACT 'major' AND WAIT")

    def table(self) -> str:
        return "lineitem"

    def rows(self, sql: str) -> list[Row]:
        with self.session.execute(sql) as result:
            return result.fetchall()

    def frame(self) -> DataFrame:
        return self.session.table(self.table())

    def check(self) -> list[list[str]]:
        return as_text(self.rows(CHECK.format(table=self.table()).strip()))

    def _open(self, warehouse: Path) -> None:
        self._close()
        self.session = acidsql.connect(str(warehouse), spark=self.spark)
        for name in (SOURCE, *map(merge_source, MERGE_ROWS)):
            self.session.register(name, self.spark.table(name))

    def _close(self) -> None:
        if self.session is not None:
            self.session.close()
        self.session = None


def copy_warehouse(source: Path, target: Path) -> None:
    """A copy that lives by itself: every location in its store names the copy."""
    link_tree(source, target, immutable=("bucket_*", "_orc_acid_version"))
    for store in [path for path in source.iterdir() if is_sqlite(path)]:
        for leftover in target.glob(store.name + "*"):
            leftover.unlink()
        with (
            closing(sqlite3.connect(store)) as old,
            closing(sqlite3.connect(target / store.name)) as new,
        ):
            old.backup(new)
            with new:
                replace_text(new, str(source), str(target))


def is_sqlite(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def replace_text(store: sqlite3.Connection, old: str, new: str) -> None:
    """Replace ``old`` by ``new`` in every text column of every table."""
    tables = [
        name for (name,) in store.execute("SELECT name FROM sqlite_schema WHERE type='table'")
    ]
    for table in tables:
        for column in [row[1] for row in store.execute(f'PRAGMA table_info("{table}")')]:
            store.execute(
                f'UPDATE "{table}" SET "{column}" = replace("{column}", :old, :new) '
                f'WHERE typeof("{column}") = \'text\' AND instr("{column}", :old) > 0',
                {"old": old, "new": new},
            )
