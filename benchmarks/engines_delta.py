"""Delta Lake with deletion vectors."""

from __future__ import annotations

from pathlib import Path

from engine import SOURCE, Engine, link_tree


class DeltaEngine(Engine):
    """Tables named by path; a fresh one is a copy with hard-linked data files."""

    def prepare(self) -> None:
        self.path = self.new_directory("loaded")
        self._create(self.path)

    def load(self) -> None:
        self.rows(f"INSERT INTO {self.table()} SELECT * FROM {SOURCE}")

    def fresh(self) -> None:
        loaded = self.loaded()
        self.path = self.new_directory("copy")
        link_tree(loaded, self.path, immutable=("*.parquet",))
        self.remove("copy", but=self.path)
        self.remove("loaded", but=loaded)
        self.check()

    def compact(self) -> None:
        # OPTIMIZE leaves files alone of which less than 5 % is deleted.
        self.rows(f"REORG TABLE {self.table()} APPLY (PURGE)")

    def table(self) -> str:
        return f"delta.`{self.path}`"

    def _create(self, path: Path) -> None:
        columns = self.spark.table(SOURCE)._jdf.schema().toDDL()
        self.rows(
            f"CREATE TABLE delta.`{path}` ({columns}) USING delta "
            "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        )
