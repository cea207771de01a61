"""What every engine of the benchmark can do, and where it keeps its files."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from workload import CHECK, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

SOURCE = "source"  # a temporary view of the session


class Engine(ABC):
    """One way to keep lineitem. A worker calls the public methods by name.

    ``prepare``, ``fresh`` and ``delete`` are not timed; ``load``, ``read``, ``write`` and
    ``compact`` are.
    """

    def __init__(self, name: str, spark: SparkSession, tables: Path, workload: Workload) -> None:
        self.spark = spark
        self.workload = workload
        self.root = tables / name
        self.root.mkdir(parents=True, exist_ok=True)
        for copy in self.root.glob("copy-*"):
            shutil.rmtree(copy)

    @abstractmethod
    def prepare(self) -> None:
        """Make an empty table for ``load``."""

    @abstractmethod
    def load(self) -> None:
        """Write all rows of the source."""

    @abstractmethod
    def fresh(self) -> None:
        """Go back to the table as loaded, and read its metadata once."""

    @abstractmethod
    def table(self) -> str:
        """The name of the table in SQL."""

    def rows(self, sql: str) -> list[Row]:
        return self.spark.sql(sql).collect()

    def frame(self) -> DataFrame:
        return self.spark.table(self.table())

    def read(self, kind: str) -> list[list[str]]:
        """The answer of a query as text."""
        if kind == "full":
            # Every column as Spark rows, dropped. Not format("noop"): Delta refuses a table with
            # deletion vectors below a V2 write.
            return [[str(self.frame()._jdf.queryExecution().toRdd().count())]]
        return as_text(self.rows(self.workload.query(kind, self.table())))

    def write(self, step: str) -> None:
        self.rows(self.workload.statement(step, self.table()))

    def delete(self) -> None:
        """What the step ``delete`` does: something for ``compact`` to take out of the files."""
        self.write("delete")

    @abstractmethod
    def compact(self) -> None:
        """Write the table's files anew, without the deleted rows."""

    def check(self) -> list[list[str]]:
        return as_text(self.rows(CHECK.format(table=self.table())))

    def new_directory(self, kind: str) -> Path:
        """A path not used before: engines cache what they know of a path."""
        return self.root / f"{kind}-{1 + max(self._numbers(kind), default=0):04d}"

    def loaded(self) -> Path:
        """The directory of the last load, of this run or an earlier one."""
        numbers = self._numbers("loaded")
        if not numbers:
            raise FileNotFoundError("no loaded table: run the step load first")
        return self.root / f"loaded-{max(numbers):04d}"

    def remove(self, kind: str, *, but: Path) -> None:
        for path in self.root.glob(f"{kind}-*"):
            if path != but:
                shutil.rmtree(path)

    def _numbers(self, kind: str) -> list[int]:
        return [int(path.name.rpartition("-")[2]) for path in self.root.glob(f"{kind}-*")]


def as_text(rows: list[Row]) -> list[list[str]]:
    return [[str(value) for value in row] for row in rows]


def link_tree(source: Path, target: Path, *, immutable: tuple[str, ...]) -> None:
    """Copy a directory; files that match a pattern of ``immutable`` are hard links."""

    def link(path: str, copy: str) -> None:
        if any(Path(path).match(pattern) for pattern in immutable):
            os.link(path, copy)
        else:
            shutil.copy2(path, copy)

    shutil.copytree(source, target, copy_function=link)
