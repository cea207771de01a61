"""The frames of a session: tables and directories as DataFrames, and rows that get a name."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

from acidsql.execution.leases import Leases
from acidsql.execution.names import SessionNames
from acidsql.execution.places import refuse_files_outside
from acidsql.execution.query import read_frame
from acidsql.execution.reading import Reading
from acidsql.execution.scope import Bounds
from acidsql.grammar.parse import parse
from acidsql.model.access import Access, Operation
from acidsql.model.names import TableName, quoted_table
from acidsql.model.table import FIELD_DELIMITER
from acidsql.ports.engine import Engine
from acidsql.ports.storage import Storage
from acidsql.ports.store import Store
from acidsql.session.acid_directory import directory_path, directory_snapshot, directory_txns
from acidsql.session.dispatch import Dispatch
from acidsql.session.parameters import require_text
from acidsql.session.transaction_control import TransactionControl
from acidsql.statements import Query
from acidsql.txn.transaction import TxnOpener


class Frames(ABC):
    """What a session offers to code that works with DataFrames. The session has the attributes."""

    _store: Store
    _engine: Engine
    _storage: Storage
    _bounds: Bounds
    _names: SessionNames
    _open_txn: TxnOpener
    _leases: Leases
    _transactions: TransactionControl
    _dispatch: Dispatch

    @abstractmethod
    def _check_open(self) -> None:
        """ConfigError if the session is closed, ForkError in a forked child."""

    def table(self, name: str) -> Any:
        """A table or view as a lazy Spark DataFrame under one snapshot.

        The snapshot is that of the open transaction, if there is one, else a new one. The snapshot
        and its files are kept until the session is closed.
        """
        self._check_open()
        require_text(name, "the name of a table")
        if name.lower() in self._names.temporary_views:
            return self._view_frame(TableName.temporary(name))
        named = TableName.parse(name, self._names.database)
        full_name = self._names.temporary_tables.get(named, named)
        if self._store.find_view(full_name) is not None:
            return self._view_frame(full_name)
        self._store.table(full_name)
        with self._transactions.statement() as block:
            accesses = [Access.of(full_name, Operation.SELECT)]
            reading = Reading.begin(accesses, self._store, block, self._open_txn)
            with reading.released_on_error():
                context = reading.context([self._store.table(full_name)], {})
                frame = self._engine.table(context.tables[full_name], context.txns).data_frame
            self._leases.keep(reading.pin, [full_name])
        return frame

    def _view_frame(self, name: TableName) -> Any:
        statement = parse(f"TABLE {quoted_table(name)}")
        assert isinstance(statement, Query)
        with self._transactions.statement() as block:
            frame, _ = read_frame(
                statement, block, self._open_txn, self._dispatch.scope({}), self._engine,
                self._leases,
            )  # fmt: skip
        return frame.data_frame

    def read_acid(
        self,
        path: str | os.PathLike[str],
        *,
        schema: str,
        partitioned_by: str | None = "",
        valid_write_ids: str | None = None,
        valid_txns: str | None = None,
        row_id: bool = False,
        stored_as: str | None = None,
        field_delimiter: str = FIELD_DELIMITER,
    ) -> Any:
        """The rows of an ACID table's directory as a DataFrame. No catalog need know the table.

        ``schema`` and ``partitioned_by`` list columns as in CREATE TABLE. ``valid_write_ids`` has
        Hive's text form ``db.table:watermark:min open:open:aborted``; ``valid_txns`` has the same
        form without the table. None for either sees everything. ``row_id`` adds the column
        ``row__id`` in front.

        Files of an insert-only table may be ORC, PARQUET or TEXTFILE: ``stored_as`` names the
        format, or, None, the first bytes of the files tell. ``field_delimiter`` stands between the
        fields of TEXTFILE. Nothing keeps a cleaner from removing the files. Raises AcidSqlError.
        """
        self._check_open()
        location = directory_path(path, self._storage)
        refuse_files_outside(location, self._storage, self._bounds)
        snapshot = directory_snapshot(
            path, schema, partitioned_by, valid_write_ids, self._storage,
            row_id=row_id, stored_as=stored_as, field_delimiter=field_delimiter,
        )  # fmt: skip
        txns = directory_txns(valid_txns)
        return self._engine.table(snapshot, txns, row_id=row_id).data_frame

    def register(self, name: str, frame: Any) -> None:
        """Make rows usable as a source under a name. The name hides a table of the same name, and
        takes the place of a temporary view.

        ``frame`` is a DataFrame of Spark, pandas or polars, or an Arrow table, record batch, reader
        or other object that gives an Arrow stream. Rows other than Spark's are copied now, which
        starts Spark. The index of a pandas frame is no column, and its NaN becomes NULL.
        AnalysisError for anything else, and for times with nanoseconds, which SQL has not.
        """
        self._check_open()
        require_text(name, "the name of a frame")
        self._engine.register(name, frame)
        self._names.temporary_views.pop(name.lower(), None)
