"""The statements of a store's opening and commit as two functions of the PostgreSQL server.

What a store costs beside them is what its client does for statements that travel one by one. The
functions are made of the very statements that the store sends for one transaction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast
from unittest.mock import patch

import psycopg

from acidsql.backends.postgres import PostgresStore
from acidsql.backends.postgres.pipeline import Pipeline, Statement
from acidsql.backends.postgres.queries import Query, queries

_AROUND = frozenset(("begin_writing", "commit", "sync_log"))
"""What no function can do: it runs inside of a transaction."""
_OPEN, _COMMIT = "bench_open", "bench_commit"
_OPENED, _NEXT_WRITE_ID = "opened", "next_write_id"
Argument = tuple[str, str, Any]
"""Of a function: the name, the type and the value that the store bound for it."""


@dataclass(frozen=True)
class Function:
    """A function of the server, and what it is called with."""

    name: str
    arguments: list[Argument]

    def statement(self, **known: object) -> Statement:
        """The call, with the ids of a transaction instead of those it was made of."""
        values = {f"p{n}": known.get(a[0], a[2]) for n, a in enumerate(self.arguments)}
        return Statement(self.name, values)


class ServerFunctions:
    """Transactions by two functions, over the connection that a store would use for them.

    ``run_one`` carries out a transaction with the store; of it the functions are made. ``suffix``
    makes their names those of one client.
    """

    def __init__(
        self, store: PostgresStore, run_one: Callable[[], object], suffix: str = ""
    ) -> None:
        run_one()
        with _recorded() as batches:
            run_one()
        opening, commit = batches
        self._pipeline = cast(Pipeline, store._sql._connection()[0])  # type: ignore[attr-defined]
        connection = self._pipeline.connection
        self._open = _function(connection, f"{_OPEN}{suffix}", opening, (_OPENED, _NEXT_WRITE_ID))
        self._commit = _function(connection, f"{_COMMIT}{suffix}", commit, ("txn_state",))

    def run(self) -> None:
        """One transaction."""
        opened = self._send(self._open.statement(), "do_not_wait", "commit", "sync_log")
        txn_id, next_write_id = (int(n) for n in re.findall(r"\((\d+)", opened))
        ids = {"txn_id": txn_id, "write_id": next_write_id - 1}
        committed = self._send(self._commit.statement(**ids), "commit")
        if committed != "(c)":
            raise SystemExit(f"a transaction of the functions ended as {committed}")

    def close(self) -> None:
        """Close the connection."""
        self._pipeline.connection.close()

    def _send(self, call: Statement, *end: str) -> str:
        self._pipeline.send([Statement("begin_writing"), call, *map(Statement, end)])
        assert call.rows
        return str(call.rows[0][0])


@contextmanager
def _recorded() -> Iterator[list[list[Statement]]]:
    """What is sent meanwhile: the statements of each round trip that writes."""
    batches: list[list[Statement]] = []
    send = Pipeline.send

    def sent(pipeline: Pipeline, statements: list[Statement]) -> None:
        if any(statement.query == "begin_writing" for statement in statements):
            batches.append(list(statements))
        send(pipeline, statements)

    with patch.object(Pipeline, "send", sent):
        yield batches


def _function(
    connection: psycopg.Connection[Any],
    name: str,
    statements: list[Statement],
    answers: tuple[str, ...],
) -> Function:
    """Make a function of statements, and the statement that calls it."""
    types = {
        query: [str(kind) for kind in kinds]
        for query, kinds in connection.execute(
            "SELECT name, parameter_types::text[] FROM pg_prepared_statements"
        )
    }
    arguments: list[Argument] = []
    lines, found = [], []
    for statement in statements:
        if statement.query in _AROUND or statement.query == "do_not_wait":
            continue
        query = queries()[statement.query]
        text = query.text.decode().rstrip().rstrip(";")
        for place in range(len(query.names), 0, -1):
            bound = query.names[place - 1]
            argument = (bound, types[statement.query][place - 1], statement.parameters[bound])
            if argument not in arguments:
                arguments.append(argument)
            text = re.sub(rf"\${place}\b", f"p{arguments.index(argument)}", text)
        if re.match(r"SELECT|WITH", text):
            answer = f"a{len(lines)}"
            text += f" INTO {answer}"
            found.append((statement.query, answer))
        lines.append(f"{text};")
    declared = " ".join(f"{answer} record;" for _, answer in found)
    wanted = ", ".join(f"{a}::text" for wanted in answers for q, a in found if q == wanted)
    head = ", ".join(f"p{n} {kind}" for n, (_, kind, _) in enumerate(arguments))
    body = "\n".join(lines)
    connection.execute(
        f"CREATE OR REPLACE FUNCTION {name}({head}) RETURNS text LANGUAGE plpgsql AS $function$\n"
        f"DECLARE {declared}\nBEGIN\n{body}\nRETURN concat({wanted});\nEND $function$"
    )
    places = ", ".join(f"${n}" for n in range(1, len(arguments) + 1))
    call = Query(f"SELECT {name}({places})".encode(), tuple(f"p{n}" for n in range(len(arguments))))
    cast(MutableMapping[str, Query], queries())[name] = call
    return Function(name, arguments)
