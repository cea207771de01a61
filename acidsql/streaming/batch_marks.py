"""Which micro-batch of a streaming query a table has: the marks, and how they are moved.

The marks are rows of a full-ACID table of acidsql's own, so a mark is committed or lost together
with the rows of its micro-batch, over every store. There is one partition for each query and
target: transactions conflict by partition, so only those of one query and target do.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from acidsql.errors import StreamingQueryError
from acidsql.model.names import TableName, quoted_table
from acidsql.session.session import Session

_log = logging.getLogger(__name__)

TABLE = "default.acidsql_streaming_batches"
"""Where the marks are, unless the caller names another table."""

_BEFORE_ALL = -1


@dataclass(slots=True)
class BatchMarks:
    """The mark of one query for one target.

    ``stream`` in a mark is Spark's id of the query, which stays the same as long as its checkpoint.
    It tells the micro-batches of another stream of the same name from replays of this one's.
    """

    query: str
    target: str
    table: TableName
    _known: set[str] = field(default_factory=set)

    def prepare(self, session: Session, stream: str) -> None:
        """See to it that the query has a mark. Each stream is asked about once.

        StreamingQueryError if the mark is another stream's.
        """
        if stream in self._known:
            return
        session.execute(
            f"CREATE TABLE IF NOT EXISTS {self._quoted} (batch_id bigint, stream string)"
            " PARTITIONED BY (query string, target string) STORED AS ORC"
            " TBLPROPERTIES ('transactional' = 'true')"
        )
        streams = self._streams(session)
        if not streams:
            session.execute(
                f"INSERT INTO {self._quoted} PARTITION (query = :query, target = :target)"
                " VALUES (:batch, :stream)",
                {**self._place, "batch": _BEFORE_ALL, "stream": stream},
            )
            streams = self._streams(session)
        if streams != {stream}:
            # Of two streams that begin at the same time, at least one sees the mark of the other.
            if stream in streams:
                session.execute(
                    f"DELETE FROM {self._quoted} WHERE query = :query AND target = :target"
                    " AND stream = :stream AND batch_id = :batch",
                    {**self._place, "batch": _BEFORE_ALL, "stream": stream},
                    retries=3,
                )
            raise self._taken(streams - {stream})
        self._known.add(stream)

    def advance(self, session: Session, stream: str, batch_id: int) -> bool:
        """Move the mark to a micro-batch, as part of the open transaction.

        False if the target has the micro-batch already. StreamingQueryError if the mark is gone or
        another stream's; WriteConflictError if another run of the query moved it meanwhile.
        """
        moved = session.execute(
            f"UPDATE {self._quoted} SET batch_id = :batch"
            " WHERE query = :query AND target = :target AND stream = :stream AND batch_id < :batch",
            {**self._place, "batch": batch_id, "stream": stream},
        )
        if moved.rows_updated:
            return True
        streams = self._streams(session)
        if streams != {stream}:
            self._known.discard(stream)
            raise self._taken(streams - {stream})
        _log.info("query %s: %s has batch %d already", self.query, self.target, batch_id)
        return False

    @property
    def _quoted(self) -> str:
        return quoted_table(self.table)

    @property
    def _place(self) -> dict[str, str]:
        return {"query": self.query, "target": self.target}

    def _streams(self, session: Session) -> set[str]:
        rows = session.execute(
            f"SELECT stream FROM {self._quoted} WHERE query = :query AND target = :target",
            self._place,
        )
        return {stream for (stream,) in rows.fetchall()}

    def _taken(self, others: set[str]) -> StreamingQueryError:
        if not others:
            return StreamingQueryError(
                f'the mark of query "{self.query}" for table {self.target} is gone',
                detail=f"It was deleted from {self.table} while the query ran.",
                hint="Start the query again: its next micro-batch is written, whatever it is.",
            )
        return StreamingQueryError(
            f'another stream writes to table {self.target} under the query name "{self.query}"',
            detail=f"Its id is {', '.join(sorted(others))}. By its micro-batches those of this"
            " stream would be taken for replays.",
            hint="Give each stream a name of its own. If this stream replaces the other one, with a"
            f" new checkpoint: DELETE FROM {self.table} WHERE query = … AND target = ….",
        )
