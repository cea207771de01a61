"""One warehouse in two hands: acidsql and a Hive write the same directories in turn.

Each has a store of its own. Before the other's turn the stores are brought in step: the write ids
one has handed out are handed out by the other, with the same ends, and so are txn ids (the `_v` of
Hive 4's compactions names one) and partitions. So both read every file under the same snapshot.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acidsql.model.names import DEFAULT_PARTITION_VALUE, PartitionName, TableName
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList
from acidsql.model.table import Column, Table, TableKind
from acidsql.ports.catalog import Partition
from acidsql.ports.store import Store
from acidsql.session.session import Session
from tests.integration.hive.process import Hive
from tests.integration.hive.values import canonical

Row = tuple[Any, ...]
"""Write id, bucket property and row number in a full-ACID table, then the values of the columns."""

ROW_ID = ("writeid", "bucketid", "rowid")
READERS = {
    "row by row": {"vectorized.execution.enabled": "false", "fetch.task.conversion": "more"},
    "vectorised": {"vectorized.execution.enabled": "true", "fetch.task.conversion": "none"},
}
"""Hive reads ACID files in two ways. A fetch without a task is row by row, and cheap."""

ONE_FILE_A_TASK = "org.apache.hadoop.hive.ql.io.HiveInputFormat"


@dataclass(frozen=True)
class _Kept:
    """The rows of a table under a snapshot of Hive's that is past."""

    table: TableName
    txns: str
    write_ids: str
    rows: list[Row]


class Shared:
    """A database that both have open."""

    def __init__(self, hive: Hive, session: Session, database: str) -> None:
        self.hive = hive
        self.session = session
        self.database = database
        self.store: Store = session._store
        self.misplaced_by_hive: set[TableName] = set()
        self._read: dict[tuple[TableName, str], list[Row]] = {}
        self._in_turn = itertools.cycle(READERS)
        self._kept: list[_Kept] = []
        self._create_database()
        for run in (hive.run, session.execute):
            run(f"USE {database}")

    def _create_database(self) -> None:
        self.hive.run(f"CREATE DATABASE {self.database}")
        self.session.execute(f"CREATE DATABASE {self.database}")

    # -- turns -------------------------------------------------------------------------------------

    def acidsql(self, sql: str) -> list[Any]:
        """A statement of acidsql, or several with semicolons between them: one transaction.

        A compaction is carried out, `clean` is one round of cleaning.
        """
        sql = self._begin(sql)
        if sql == "clean":
            self._clean()
            rows = []
        elif ";" in sql:
            defines = sql.startswith("CREATE TABLE")
            rows = list(self.session.execute_script(sql, single_transaction=not defines))
        else:
            rows = self.session.execute(sql).fetchall()
            if " COMPACT " in sql:
                self._work()
        for table in self.tables():
            self._tell_hive(table)
            self._check(table)
        self._read_kept()
        return rows

    def _work(self) -> None:
        """Carry out the compactions that acidsql has queued."""
        self.session.run_worker()

    def _clean(self) -> None:
        """One round of cleaning by acidsql."""
        self.session.run_cleaner()

    def theirs(self, sql: str) -> list[Any]:
        """A statement of Hive; a compaction is carried out, `clean` is one round of cleaning."""
        sql = self._begin(sql)
        if sql == "clean":
            # Hive 4 leaves txns of the last second open to doubt (hive.txn.opentxn.timeout).
            time.sleep(1.2)
            self.hive.run("!cleaner")
            rows = []
        else:
            for statement in sql.split(";"):
                rows = self.hive.run(statement.strip())
            if " COMPACT " in sql:
                self.hive.work()
        for table in self.tables():
            self._tell_acidsql(table)
            self._check(table, after_hive=True)
        self._read_kept()
        return rows

    def both(self, sql: str) -> None:
        """A definition, which each store keeps for itself."""
        sql = self._begin(sql)
        self.hive.run(sql)
        self.session.execute(sql)

    def keep(self, name: str) -> None:
        """Go on reading a table under the snapshot of now, too, until somebody cleans up."""
        table = self.store.table(TableName(self.database, name))
        txns, write_ids = self.hive.run(f"!snapshot {table.name}")
        self._kept.append(_Kept(table.name, txns, write_ids, self.rows(name)))

    def _begin(self, sql: str) -> str:
        """A turn begins: what was read is out of date. The statement without its placeholders."""
        self.forget_rows()
        if sql == "clean":
            self._kept.clear()
        for mark, text in (
            ("{database}", self.database),
            ("{directory}", str(self.hive.warehouse / f"{self.database}.db")),
            ("{outside}", str(self._outside)),
        ):
            sql = sql.replace(mark, text)
        return sql

    def forget_rows(self) -> None:
        """What was read is out of date: the next look at a table reads it anew."""
        self._read.clear()

    @property
    def _outside(self) -> Path:
        return self.hive.warehouse.parent / f"{self.database}.outside"

    def copy(self, name: str) -> None:
        """Copy the files of a table to where no table is."""
        target = self._outside / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.location(name), target)

    def _check(self, table: Table, *, after_hive: bool = False) -> None:
        """CHECK TABLE finds nothing, but for rows that Hive 3 put elsewhere (docs/interop.md).

        From then on their new versions, which keep the bucket, are elsewhere, too.
        """
        found = self.session.execute(f"CHECK TABLE {table.name}").fetchall()
        misplaced = {problem for problem in found if problem[2] == "wrong hash"}
        if misplaced and after_hive and self.hive.version == 3:
            self.misplaced_by_hive.add(table.name)
        forgiven = misplaced if table.name in self.misplaced_by_hive else set()
        problems = [problem for problem in found if problem not in forgiven]
        assert not problems, f"CHECK TABLE {table.name}:\n" + "\n".join(map(str, problems))

    # -- what there is -----------------------------------------------------------------------------

    def table(self, name: str) -> Table:
        """The table as acidsql knows it."""
        return self.store.table(TableName(self.database, name))

    def tables(self) -> list[Table]:
        """The tables of the database that both have."""
        theirs = {row["tab_name"] for row in self.hive.run(f"SHOW TABLES IN {self.database}")}
        names = [name for name in self.store.tables(self.database) if name in theirs]
        return [self.store.table(TableName(self.database, name)) for name in names]

    def location(self, name: str) -> Path:
        """The directory of a table."""
        return Path(self.store.table(TableName(self.database, name)).location)

    def rows_in_turn(self, name: str) -> list[Row]:
        """`rows` with one of Hive's readers, another one with each call."""
        return self.rows(name, [next(self._in_turn)])

    def rows_of_hive(self, name: str) -> list[Row]:
        """`rows` for what Hive wrote, which it can read: with its cheaper reader.

        In its place acidsql reads the bare directory, too.
        """
        bare = ["bare"] if self.table(name).kind is TableKind.FULL_ACID else []
        return self.rows(name, ["row by row", *bare])

    def rows(self, name: str, readers: Sequence[str] = tuple(READERS)) -> list[Row]:
        """The rows with their row ids, in row id order, if the readers agree with acidsql."""
        table = self.table(name)
        with ThreadPoolExecutor(1) as pool:  # Spark reads while Hive does
            reading = pool.submit(self._rows_by, "acidsql", table)
            read = {reader: self._rows_by(reader, table) for reader in readers}
            self._set_reader("vectorised")  # Hive's next turn is, too
            ours = reading.result()
        for reader, theirs in read.items():
            if ours != theirs:
                lost = [row for row in ours if row not in theirs]
                more = [row for row in theirs if row not in ours]
                raise AssertionError(
                    f"{table.name}, Hive {self.hive.version}, {reader}:"
                    f" {len(ours)} rows by acidsql, {len(theirs)} so;"
                    f"\nby acidsql alone {lost[:5]}\nso alone {more[:5]}"
                )
        return ours

    def _rows_by(self, reader: str, table: Table) -> list[Row]:
        """What one reader read since the last turn, or reads now."""
        key = (table.name, reader)
        if key not in self._read:
            match reader:
                case "acidsql":
                    self._read[key] = self.our_rows(table)
                case "bare":
                    self._read[key] = self.bare_rows(table)
                case _:
                    self._read[key] = self.their_rows(table, reader)
        return self._read[key]

    def our_rows(self, table: Table) -> list[Row]:
        """As acidsql reads them."""
        if table.kind is not TableKind.FULL_ACID:
            rows = self.session.execute(f"SELECT * FROM {table.name}").fetchall()
            return sorted(self.row(table, (), row) for row in rows)
        rows = self.session.execute(f"SELECT row__id, * FROM {table.name}").fetchall()
        return sorted(self.row(table, tuple(r[0]), r[1:]) for r in rows)

    def bare_rows(self, table: Table) -> list[Row]:
        """As acidsql reads the directory under Hive's snapshot, whatever its own store says."""
        txns, write_ids = self.hive.run(f"!snapshot {table.name}")
        return self._rows_under(table, txns, write_ids)

    def _read_kept(self) -> None:
        for kept in self._kept:
            rows = self._rows_under(self.store.table(kept.table), kept.txns, kept.write_ids)
            assert rows == kept.rows, f"{kept.table} under {kept.write_ids}"

    def _rows_under(self, table: Table, txns: str, write_ids: str) -> list[Row]:
        frame = self.session.read_acid(
            table.location,
            schema=_declared(table.columns),
            partitioned_by=_declared(table.partition_columns),
            valid_write_ids=write_ids,
            valid_txns=txns,
            row_id=True,
        )
        return sorted(self.row(table, tuple(r[0]), r[1:]) for r in frame.collect())

    def their_rows(self, table: Table, reader: str) -> list[Row]:
        """As one of Hive's readers reads them."""
        self._set_reader(reader)
        # It prints bytes as if they were text.
        columns = (
            f"hex(`{c.name}`) AS `{c.name}`" if str(c.type) == "binary" else f"`{c.name}`"
            for c in table.all_columns
        )
        if table.kind is not TableKind.FULL_ACID:
            rows = self.hive.run(f"SELECT {', '.join(columns)} FROM {table.name}")
            return sorted(self.row(table, (), r.values()) for r in rows)
        rows = self.hive.run(f"SELECT row__id, {', '.join(columns)} FROM {table.name}")
        values = ([v for k, v in r.items() if k != "row__id"] for r in rows)
        ids = (tuple(r["row__id"][k] for k in ROW_ID) for r in rows)
        return sorted(self.row(table, i, v) for i, v in zip(ids, values, strict=True))

    def _set_reader(self, reader: str) -> None:
        for key, value in READERS[reader].items():
            self.hive.run(f"SET hive.{key}={value}")
        if self.hive.version == 3:
            # Hive 3 asks for it where an ACID table still has the files of a plain one (30022).
            self.hive.run(f"SET hive.input.format={ONE_FILE_A_TASK}")

    @staticmethod
    def row(table: Table, row_id: tuple[int, ...], values: Any) -> Row:
        """A row in the form in which rows are compared."""
        # Hive shows the partition of NULL by its name where the column is a string.
        plain = (None if v == DEFAULT_PARTITION_VALUE else v for v in values)
        columns = zip(plain, table.all_columns, strict=True)
        # As text, so that rows with NULLs can be sorted.
        return (*row_id, *(repr(canonical(v, c.type)) for v, c in columns))

    # -- keeping in step ---------------------------------------------------------------------------

    def _tell_hive(self, table: Table) -> None:
        ours, theirs = self._snapshots(table)
        assert not ours[1].open, f"{table.name} is being written"
        for write_id in range(theirs[1].high_watermark + 1, ours[1].high_watermark + 1):
            end = "abort" if write_id in ours[1].aborted else "commit"
            (answer,) = self.hive.run(f"!allocate {table.name} {end}")
            assert answer["write_id"] == write_id
        known = set(self._hive_partitions(table))
        for partition in self.store.partitions(table.name):
            if str(partition.name) not in known:
                self.hive.run(f"!partition {table.name} {partition.name}")
        self.hive.run(f"!advance {ours[0].high_watermark}")
        self._tell_acidsql_txns()

    def _tell_acidsql(self, table: Table) -> None:
        ours, theirs = self._snapshots(table)
        for write_id in range(ours[1].high_watermark + 1, theirs[1].high_watermark + 1):
            txn = self.store.open_txn("hive", "hive")
            assert self.store.allocate_write_id(txn, table.name) == write_id
            if write_id in theirs[1].aborted:
                self.store.abort_txn(txn)
            else:
                self.store.commit_txn(txn)
        names = [PartitionName.parse(name) for name in self._hive_partitions(table)]
        self.store.add_partitions(
            table.name, [Partition(n, f"{table.location}/{n}") for n in names]
        )
        self._tell_acidsql_txns()

    def _tell_acidsql_txns(self) -> None:
        (text, *_) = self.hive.run("!snapshot")
        theirs = ValidTxnList.parse(text)
        while self.store.valid_txns().high_watermark < theirs.high_watermark:
            self.store.commit_txn(self.store.open_txn("hive", "hive"))

    def _snapshots(
        self, table: Table
    ) -> tuple[tuple[ValidTxnList, ValidWriteIdList], tuple[ValidTxnList, ValidWriteIdList]]:
        txns, write_ids = self.hive.run(f"!snapshot {table.name}")
        ours = self.store.valid_txns()
        return (
            (ours, self.store.valid_write_ids([table.name], ours)[table.name]),
            (ValidTxnList.parse(txns), ValidWriteIdList.parse(write_ids)),
        )

    def _hive_partitions(self, table: Table) -> list[str]:
        if not table.partition_columns:
            return []
        return [row["partition"] for row in self.hive.run(f"SHOW PARTITIONS {table.name}")]


def _declared(columns: Sequence[Column]) -> str:
    return ", ".join(f"`{c.name}` {c.type}" for c in columns)
