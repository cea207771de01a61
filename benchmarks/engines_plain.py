"""Plain ORC: what a Hive user without ACID does, who rewrites the whole table at every change."""

from __future__ import annotations

from pathlib import Path

from engine import SOURCE, Engine
from workload import (
    DELETED_BY_MERGE,
    DELETES,
    KEYS,
    MERGE_ROWS,
    SET_COLUMN,
    SET_VALUE,
    merge_source,
)

VIEW = "plain_lineitem"


class PlainEngine(Engine):
    """The rewritten table goes to a new directory and takes the place of the old one."""

    def prepare(self) -> None:
        self.target = self.new_directory("loaded")

    def load(self) -> None:
        self._write_directory(self.target, f"SELECT * FROM {SOURCE}")

    def fresh(self) -> None:
        self.remove("loaded", but=self.loaded())
        self._use(self.loaded())
        self.check()

    def table(self) -> str:
        return VIEW

    def write(self, step: str) -> None:
        previous = self.path
        target = self.new_directory("copy")
        self._write_directory(target, self._rewrite(step))
        self._use(target)
        if previous != self.loaded():
            self.remove("copy", but=target)

    def compact(self) -> None:
        target = self.new_directory("copy")
        self._write_directory(target, f"SELECT * FROM {VIEW}")
        self._use(target)

    def _use(self, path: Path) -> None:
        self.path = path
        self.spark.read.orc(str(path)).createOrReplaceTempView(VIEW)

    def _write_directory(self, path: Path, select: str) -> None:
        options = "USING orc OPTIONS (compression 'zstd')"
        self.rows(f"INSERT OVERWRITE DIRECTORY '{path}' {options} {select}")

    def _rewrite(self, step: str) -> str:
        """SELECT of the table as the statement of ``step`` would leave it."""
        if step in MERGE_ROWS:
            deleted = DELETED_BY_MERGE if step == "merge_delete" else None
            return self._rewrite_merge(merge_source(step), deleted)
        where = self.workload.where(step)
        if step in DELETES:
            return f"SELECT * FROM {VIEW} WHERE NOT ({where})"
        schema = self.spark.table(SOURCE).schema
        changed = (
            f"CAST(CASE WHEN {where} THEN {SET_VALUE} ELSE {SET_COLUMN} END "
            f"AS {schema[SET_COLUMN].dataType.simpleString()}) AS {SET_COLUMN}"
        )
        columns = [changed if name == SET_COLUMN else name for name in schema.names]
        return f"SELECT {', '.join(columns)} FROM {VIEW}"

    def _rewrite_merge(self, source: str, deleted: str | None) -> str:
        names = self.spark.table(SOURCE).columns
        on = " AND ".join(f"t.{key} = s.{key}" for key in KEYS)
        matched = ", ".join(
            f"CASE WHEN s.{KEYS[0]} IS NOT NULL THEN s.{name} ELSE t.{name} END AS {name}"
            for name in names
        )
        new = ", ".join(f"s.{name}" for name in names)
        kept = f" WHERE NOT (s.{KEYS[0]} IS NOT NULL AND t.{deleted})" if deleted else ""
        return (
            f"SELECT {matched} FROM {VIEW} t LEFT JOIN {source} s ON {on}{kept} UNION ALL "
            f"SELECT {new} FROM {source} s LEFT ANTI JOIN {VIEW} t ON {on}"
        )
