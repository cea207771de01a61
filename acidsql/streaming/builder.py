"""The builder of streaming connections, after Hive's HiveStreamingConnection.Builder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from acidsql.errors import StreamingConnectionError
from acidsql.execution.stream_scope import StreamScope
from acidsql.model.names import TableName
from acidsql.session.parameters import require_text
from acidsql.session.session import Session
from acidsql.streaming.connection import StreamingConnection
from acidsql.streaming.options import StreamOptions
from acidsql.streaming.partitions import static_partition
from acidsql.streaming.writers import ArrowRecordWriter, RecordWriter


class StreamingConnectionBuilder:
    """Collects what a connection needs. Each method returns the builder."""

    def __init__(self) -> None:
        self._database: str | None = None
        self._table: str | None = None
        self._static_values: Sequence[Any] | None = None
        self._record_writer: RecordWriter = ArrowRecordWriter()
        self._batch_size = 1
        self._agent_info = ""

    def database(self, name: str) -> StreamingConnectionBuilder:
        """The database of the table. By default it is the session's current one."""
        self._database = name
        return self

    def table(self, name: str) -> StreamingConnectionBuilder:
        """The table to write into."""
        self._table = name
        return self

    def static_partition_values(self, values: Sequence[Any]) -> StreamingConnectionBuilder:
        """All rows go into one partition: a value for each partition column.

        Without them, the last fields of each record are its partition's values.
        """
        self._static_values = values
        return self

    def record_writer(self, writer: RecordWriter) -> StreamingConnectionBuilder:
        """What makes rows of records. By default it is an ArrowRecordWriter."""
        self._record_writer = writer
        return self

    def transaction_batch_size(self, count: int) -> StreamingConnectionBuilder:
        """How many transactions are opened at once, and share a directory. The default is 1."""
        self._batch_size = count
        return self

    def agent_info(self, text: str) -> StreamingConnectionBuilder:
        """What SHOW LOCKS tells of the writer."""
        self._agent_info = text
        return self

    def connect(
        self,
        session: Session | None = None,
        *,
        warehouse: str | os.PathLike[str] | None = None,
        metastore: str | None = None,
        user: str | None = None,
        config: Mapping[str, str] | None = None,
    ) -> StreamingConnection:
        """The connection, over a session's store or over that of a warehouse.

        The other arguments are those of ``acidsql.connect``. No Spark is needed.
        StreamingConnectionError if the table or an option does not allow it; TableNotFoundError.
        """
        self._require_options()
        if session is not None:
            if any(given is not None for given in (warehouse, metastore, user, config)):
                raise StreamingConnectionError("give either a session, or a warehouse")
            return self._connect(session.stream_scope(), None)
        if warehouse is None:
            raise StreamingConnectionError("there is neither a session nor a warehouse")
        from acidsql.connect import connect  # noqa: PLC0415 - only where it is wanted

        own = connect(os.fspath(warehouse), metastore=metastore, user=user, config=config)
        try:
            return self._connect(own.stream_scope(), own)
        except BaseException:
            own.close()
            raise

    def _require_options(self) -> None:
        if not isinstance(self._table, str) or not self._table:
            raise StreamingConnectionError("Table cannot be null for streaming connection")
        for text, what in (
            (self._table, "the table"),
            (self._database or "", "the database"),
            (self._agent_info, "agent_info"),
        ):
            require_text(text, what)
        if not isinstance(self._record_writer, RecordWriter):
            raise StreamingConnectionError("Record writer cannot be null for streaming connection")
        count = self._batch_size
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise StreamingConnectionError(f"{count!r} is no size of a transaction batch")

    def _connect(self, scope: StreamScope, own: Session | None) -> StreamingConnection:
        assert self._table is not None
        if self._database is not None:
            name = TableName.of(self._database, self._table)
        else:
            name = TableName.parse(self._table, scope.database)
        name = scope.scope.names.temporary_tables.get(name, name)
        if scope.store.find_view(name) is not None:
            raise StreamingConnectionError(
                f"{name} is a view", hint="Stream into a table of its query."
            )
        table = scope.store.table(name)
        options = StreamOptions(
            table,
            self._record_writer,
            static_partition(table, self._static_values),
            self._batch_size,
            self._agent_info,
        )
        return StreamingConnection(scope, options, None if own is None else own.close)
