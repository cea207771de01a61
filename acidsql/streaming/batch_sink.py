"""The sink of a Spark Structured Streaming query: each micro-batch is written exactly once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from acidsql.errors import CardinalityError, ConfigError
from acidsql.grammar.parse import parse
from acidsql.model.names import (
    DEFAULT_PARTITION_VALUE,
    TableName,
    quote_identifier,
    quoted_table,
)
from acidsql.session.parameters import require_count, require_text
from acidsql.session.retries import with_retries
from acidsql.session.session import Session
from acidsql.statements.merge import Merge
from acidsql.streaming.batch_keys import KeyColumn, held, key_columns
from acidsql.streaming.batch_marks import TABLE, BatchMarks

BATCH = "batch"
"""The name of a micro-batch in a MERGE."""

_QUERY_ID = "sql.streaming.queryId"
"""The property of Spark's threads that holds the id of the query (StreamExecution.QUERY_ID_KEY)."""

_RANK = "__acidsql_rank"
_MODES = ("append", "upsert", "merge")

WriteBatch = Callable[[Any, int], None]


def sink(
    session: Session,
    table: str,
    *,
    query: str,
    mode: str | None = None,
    keys: Sequence[str] = (),
    order_by: str | None = None,
    merge: str | None = None,
    retries: int = 5,
    marks: str = TABLE,
    sleep: Callable[[float], None] = time.sleep,
) -> WriteBatch:
    """A function for ``DataStreamWriter.foreachBatch`` that writes each micro-batch exactly once.

    ``query`` names the query: it stays the same over restarts, and no other stream writes to the
    table under it. The number of the last micro-batch is committed with its rows (in the table
    ``marks``), so a micro-batch that Spark replays changes nothing.

    The mode "append", the default, inserts the rows. "upsert" needs ``keys``: a row whose keys are
    in the table updates the row there, any other is inserted. If several rows of a micro-batch have
    the same keys, the one with the greatest ``order_by`` counts. ``merge`` is a MERGE INTO the
    table whose source is the table name ``batch``. Columns go by name.

    After a write conflict a micro-batch is tried again up to ``retries`` times.

    Raises ConfigError for arguments that make no sense. The function raises AcidSqlError, which
    ends the query; so no row is lost. It may be CardinalityError (keys that are not unique or
    null) or StreamingQueryError (another stream uses the name).
    """
    for value, what in ((table, "the name of a table"), (query, "query"), (marks, "marks")):
        require_text(value, what)
    require_count(retries, "retries")
    if query in ("", DEFAULT_PARTITION_VALUE):
        raise ConfigError("a query needs a name that is not empty", hint='Write query="orders".')
    name = TableName.parse(table, session.database)
    write = _writer(name, session.database, _mode(mode, merge), list(keys), order_by, merge)
    batch_marks = BatchMarks(query, str(name), TableName.parse(marks, session.database))

    def write_batch(frame: Any, batch_id: int) -> None:
        stream = _stream_of(frame)
        with session.beside(frame.sparkSession) as own:
            own.register(BATCH, frame)
            batch_marks.prepare(own, stream)

            def attempt() -> None:
                with own.transaction():
                    if batch_marks.advance(own, stream, batch_id):
                        write(own, frame)

            with_retries(attempt, retries, sleep)

    return write_batch


def _mode(mode: str | None, merge: str | None) -> str:
    if mode is None:
        return "append" if merge is None else "merge"
    if mode not in _MODES or (merge is None) == (mode == "merge"):
        raise ConfigError(
            f"mode={mode!r} does not go with these arguments",
            hint='Use "append", "upsert" with keys=, or leave mode out and give merge=.',
        )
    return mode


def _writer(
    table: TableName,
    database: str,
    mode: str,
    keys: Sequence[str],
    order_by: str | None,
    merge: str | None,
) -> Callable[[Session, Any], None]:
    """What writes a micro-batch, which is registered in a session, by a statement of its mode."""
    if (mode == "upsert") != bool(keys) or (order_by is not None and not keys):
        raise ConfigError(
            'keys= and order_by= belong to mode="upsert", which needs keys=',
            hint='Write mode="upsert", keys=["id"].',
        )
    if merge is not None:
        _require_merge_of_batch(merge, table, database)
        text = merge
        return lambda session, frame: _execute(session, text)
    if mode == "upsert":
        return lambda session, frame: _upsert(session, frame, table, keys, order_by)
    return lambda session, frame: _append(session, frame, table)


def _execute(session: Session, sql: str) -> None:
    session.execute(sql)


def _require_merge_of_batch(merge: str, table: TableName, database: str) -> None:
    """ConfigError unless the text is a MERGE into the table that reads the micro-batch."""
    require_text(merge, "merge")
    statement = parse(merge)
    if not isinstance(statement, Merge):
        raise ConfigError("merge= takes a MERGE INTO … USING … statement")
    target = statement.target
    name = TableName.of(target.database or database, target.table)
    if name != table:
        raise ConfigError(
            f"merge= changes table {name}, but the sink is one of {table}",
            hint="Each table needs a sink of its own. They may have the same query name.",
        )
    reads = (*statement.source.tables, *statement.on.tables)
    if not any(ref.database is None and ref.table.lower() == BATCH for ref in reads):
        raise ConfigError(
            f'merge= does not read the micro-batch, which is called "{BATCH}"',
            hint=f"Write MERGE INTO {table} AS t USING {BATCH} AS s ON ….",
        )


def _append(session: Session, frame: Any, table: TableName) -> None:
    columns = _list(frame.columns)
    session.execute(f"INSERT INTO {quoted_table(table)} ({columns}) SELECT {columns} FROM {BATCH}")


def _upsert(
    session: Session, frame: Any, table: TableName, keys: Sequence[str], order_by: str | None
) -> None:
    columns = list(frame.columns)
    known = {column.lower() for column in columns}
    lacking = [key for key in keys if key.lower() not in known]
    if lacking:
        raise ConfigError(
            f"the micro-batch has no column {lacking[0]!r}, which is one of keys=",
            detail=f"Its columns are {', '.join(columns)}.",
        )
    source = _with_stored_keys(columns, keys, key_columns(session, table))
    if order_by is not None:
        ranked = (
            f"SELECT *, rank() OVER (PARTITION BY {_list(keys)}"
            f" ORDER BY {quote_identifier(order_by)} DESC) AS {_RANK} FROM ({source})"
        )
        source = f"SELECT {_list(columns)} FROM ({ranked}) WHERE {_RANK} = 1"
    frame.persist()  # it is read once for the check and once for the MERGE
    try:
        _require_unique(session, source, keys, order_by)
        session.execute(_merge_of(table, source, columns, keys))
    finally:
        frame.unpersist()


def _with_stored_keys(
    columns: Sequence[str], keys: Sequence[str], known: Mapping[str, KeyColumn]
) -> str:
    """A query of the micro-batch, in which keys are the same that the table will hold as the same.

    A key that the table lacks stays as it is, for the MERGE to refuse.
    """
    held_as = {key.lower(): known[key.lower()] for key in keys if key.lower() in known}
    items = [
        f"{held(name, held_as[column.lower()])} AS {name}" if column.lower() in held_as else name
        for column, name in zip(columns, map(quote_identifier, columns), strict=True)
    ]
    return f"SELECT {', '.join(items)} FROM {BATCH}"


def _require_unique(
    session: Session, source: str, keys: Sequence[str], order_by: str | None
) -> None:
    """CardinalityError if two rows of the source have the same keys, or one has a null."""
    nulls = " OR ".join(f"{quote_identifier(key)} IS NULL" for key in keys)
    counted = session.execute(
        f"SELECT {_list(keys)}, count(*) FROM ({source}) GROUP BY {_list(keys)}"
        f" HAVING count(*) > 1 OR {nulls} LIMIT 1"
    ).fetchall()
    if not counted:
        return
    *values, count = counted[0]
    shown = ", ".join(f"{key} = {value!r}" for key, value in zip(keys, values, strict=True))
    if None in values:
        raise CardinalityError(
            f"a row of the micro-batch has a null among its keys: {shown}",
            hint="Filter such rows out, or give them a key.",
        )
    if order_by is None:
        raise CardinalityError(
            f"{count} rows of the micro-batch have the same keys: {shown}",
            hint="order_by= names the column whose greatest value decides.",
        )
    raise CardinalityError(
        f"{count} rows of the micro-batch have the same keys and the same {order_by}: {shown}",
        hint="Order by a column that differs among the rows of a key.",
    )


def _merge_of(table: TableName, source: str, columns: Sequence[str], keys: Sequence[str]) -> str:
    is_key = {key.lower() for key in keys}

    def pair(column: str, left: str) -> str:
        return f"{left}{quote_identifier(column)} = s.{quote_identifier(column)}"

    on = " AND ".join(pair(key, "t.") for key in keys)
    others = ", ".join(pair(column, "") for column in columns if column.lower() not in is_key)
    update = f" WHEN MATCHED THEN UPDATE SET {others}" if others else ""
    values = ", ".join(f"s.{quote_identifier(column)}" for column in columns)
    return (
        f"MERGE INTO {quoted_table(table)} AS t USING ({source}) AS s ON {on}{update}"
        f" WHEN NOT MATCHED THEN INSERT ({_list(columns)}) VALUES ({values})"
    )


def _list(columns: Sequence[str]) -> str:
    return ", ".join(map(quote_identifier, columns))


def _stream_of(frame: Any) -> str:
    """Spark's id of the query whose micro-batch this is; "" if the frame is of no query."""
    context = getattr(frame.sparkSession, "_sc", None)  # a session of Spark Connect has none
    return (context.getLocalProperty(_QUERY_ID) or "") if context is not None else ""
