"""Iceberg, merge-on-read, in format version 2 (delete files) or 3 (deletion vectors)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine import SOURCE, Engine
from workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = "ice"


class IcebergEngine(Engine):
    """A fresh table is the snapshot of the load, made current again."""

    def __init__(
        self, name: str, spark: SparkSession, tables: Path, workload: Workload, *, version: int
    ) -> None:
        super().__init__(name, spark, tables, workload)
        self.version = version
        self.name = f"db.lineitem_v{version}"

    def prepare(self) -> None:
        columns = self.spark.table(SOURCE)._jdf.schema().toDDL()
        modes = ", ".join(
            f"'write.{verb}.mode' = 'merge-on-read'" for verb in ("delete", "update", "merge")
        )
        self.rows(f"DROP TABLE IF EXISTS {self.table()} PURGE")
        self.rows(
            f"CREATE TABLE {self.table()} ({columns}) USING iceberg "
            f"TBLPROPERTIES ('format-version' = '{self.version}', {modes})"
        )

    def load(self) -> None:
        self.rows(f"INSERT INTO {self.table()} SELECT * FROM {SOURCE}")

    def fresh(self) -> None:
        first = self.rows(
            f"SELECT snapshot_id FROM {self.table()}.snapshots ORDER BY committed_at LIMIT 1"
        )
        self.rows(f"CALL {CATALOG}.system.set_current_snapshot('{self.name}', {first[0][0]})")
        self.check()

    def compact(self) -> None:
        options = "options => map('rewrite-all', 'true')"
        self.rows(f"CALL {CATALOG}.system.rewrite_data_files(table => '{self.name}', {options})")

    def table(self) -> str:
        return f"{CATALOG}.{self.name}"
