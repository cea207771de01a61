"""Statements that travel together: one round trip, however many there are."""

from __future__ import annotations

import select
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

import psycopg
from psycopg import Connection, errors
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Ready, Wait

from acidsql.backends.postgres.queries import Query, queries
from acidsql.backends.relational.connection import Row
from acidsql.errors import AnalysisError

_INTEGERS = frozenset((20, 21, 23))
"""The types of numbers that our statements answer with (pg_type: int8, int2, int4)."""
_ENCODING = "utf-8"
_SHOWN_MAX = 100
_FAILED = (ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED)


@dataclass(slots=True)
class Statement:
    """A named statement, and its answer once the server has sent it."""

    query: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    rows: list[Row] | None = None
    tag: bytes = b""
    """The server's name for the command that it carried out."""


class Pipeline:
    """A connection to which statements are sent in batches.

    The server prepares each statement once, and parameters are bound. The driver's own pipeline
    reaches two thirds of the transactions
    (docs/adr/0010-statements-travel-over-libpqs-pipeline.md).
    """

    def __init__(self, connection: Connection[Row]) -> None:
        self.connection = connection
        self._prepared: set[str] = set()

    def is_gone(self) -> bool:
        """Whether the server has closed an idle connection, as far as is known here.

        Bytes that come unasked are taken for the end of the connection. They hardly ever are
        anything else, and a new connection is made fast.
        """
        if self.connection.closed:
            return True
        poll = select.poll()
        poll.register(self.connection.fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def send(self, statements: Sequence[Statement]) -> None:
        """Carry out statements in their order.

        Raises the psycopg.Error of the first one that fails. The statements after it are not
        carried out.
        """
        bound = [_bound(queries()[s.query], s.parameters) for s in statements]
        pgconn = self.connection.pgconn
        try:
            pgconn.enter_pipeline_mode()
            sent = self._queue(pgconn, statements, bound)
            pgconn.pipeline_sync()
            results = self.connection.wait(_answers(pgconn))
            pgconn.exit_pipeline_mode()
        except BaseException:
            if not self.connection.broken:
                # It is not known any more which answer belongs to which statement.
                self.connection.close()
            raise
        for what, result in zip(sent, results, strict=True):
            self._take(what, result)

    def _queue(
        self,
        pgconn: PGconn,
        statements: Sequence[Statement],
        bound: Sequence[Sequence[bytes | None]],
    ) -> list[Statement | str]:
        """Queue statements. Returned are the things that will be answered, in their order.

        They are the statements, and the names of those that are prepared. A statement is prepared
        right before its first use: a snapshot may have to be the first thing after BEGIN.
        """
        sent: list[Statement | str] = []
        for statement, values in zip(statements, bound, strict=True):
            name = statement.query
            if name not in self._prepared and name not in sent:
                pgconn.send_prepare(name.encode(), queries()[name].text)
                sent.append(name)
            pgconn.send_query_prepared(name.encode(), values)
            sent.append(statement)
        return sent

    def _take(self, what: Statement | str, result: PGresult) -> None:
        if result.status in _FAILED:
            # The first failure has the cause.
            raise _error(result)
        if isinstance(what, str):
            self._prepared.add(what)
        else:
            what.rows, what.tag = _rows(result), result.command_status or b""


def _answers(pgconn: PGconn) -> Generator[Wait, Ready | int, list[PGresult]]:
    """Send the queue, and collect all results. ``Connection.wait`` runs this generator."""
    results: list[PGresult] = []
    while True:
        unsent = pgconn.flush()
        if not (yield Wait.RW if unsent else Wait.R) & Ready.R:
            continue
        pgconn.consume_input()
        while not pgconn.is_busy():
            result = pgconn.get_result()
            if result is None:
                if pgconn.status != ConnStatus.OK:
                    raise psycopg.OperationalError("the connection is lost")
                continue
            if result.status == ExecStatus.PIPELINE_SYNC:
                return results
            results.append(result)


def _bound(query: Query, parameters: Mapping[str, object]) -> list[bytes | None]:
    return [_text(parameters[name]) for name in query.names]


def _text(value: object) -> bytes | None:
    """A parameter as it is sent. AnalysisError for a text that PostgreSQL does not have."""
    if value is None:
        return None
    text = str(value)
    if "\0" in text:
        shown = text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"
        raise AnalysisError(
            f"the transaction store cannot keep the text {shown!r}",
            detail="It has a NUL character, and texts of PostgreSQL have none.",
        )
    return text.encode(_ENCODING)


def _rows(result: PGresult) -> list[Row]:
    if not result.ntuples:
        return []
    decoders = [_decoder(result.ftype(column)) for column in range(result.nfields)]
    return [
        tuple(
            None if (value := result.get_value(row, column)) is None else decode(value)
            for column, decode in enumerate(decoders)
        )
        for row in range(result.ntuples)
    ]


def _decoder(type_oid: int) -> Callable[[bytes], object]:
    return int if type_oid in _INTEGERS else _decode


def _decode(value: bytes) -> str:
    return value.decode(_ENCODING)


def _error(result: PGresult) -> psycopg.Error:
    state = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode()
    message = result.error_message.decode(_ENCODING, "replace").strip()
    try:
        return errors.lookup(state)(message)
    except KeyError:
        return psycopg.DatabaseError(message)
