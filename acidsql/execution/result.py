"""The Result that `execute` gives back: rows, counts, ids."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from acidsql.errors import AcidSqlError, SqlError
from acidsql.model.html_table import html_table
from acidsql.ports.engine import Frame, RowBatches

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


T = TypeVar("T")


class ReadyRows:
    """The RowBatches port over rows that are already here."""

    computed = True

    def __init__(self, batches: Iterable[list[tuple[Any, ...]]]) -> None:
        self._batches = iter(batches)

    def __iter__(self) -> Iterator[list[tuple[Any, ...]]]:
        return self

    def __next__(self) -> list[tuple[Any, ...]]:
        return next(self._batches)

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class RowsFrame:
    """The Frame port over rows that are already here: SHOW, DESCRIBE, EXPLAIN."""

    columns: list[str]
    values: list[tuple[Any, ...]]

    @property
    def types(self) -> list[str]:
        return ["string"] * len(self.columns)

    @property
    def data_frame(self) -> Any:
        raise AcidSqlError(
            "this result has no Spark DataFrame", hint="Use fetchall(), arrow() or pandas()."
        )

    def rows(self) -> list[tuple[Any, ...]]:
        return list(self.values)

    def batches(self) -> RowBatches:
        return ReadyRows([self.rows()])

    def arrow(self) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - a result of text needs no Arrow

        columns = [[row[i] for row in self.values] for i in range(len(self.columns))]
        return pa.table([pa.array(c, pa.string()) for c in columns], names=self.columns)

    def pandas(self) -> pd.DataFrame:
        return self.arrow().to_pandas()


@dataclass(frozen=True, slots=True)
class InsertedLeg:
    """How many rows one leg of a multi-insert has inserted into a table."""

    table: str
    rows: int


NO_ROWS = RowsFrame([], [])

HTML_ROWS = 100
"""Rows that the HTML form of a Result shows."""


class Result:
    """The outcome of one statement; a context manager that lets go of its snapshot at the end.

    A query is computed when its rows are asked for: `fetchall` computes all of them in one go,
    `fetchone`, `fetchmany` and a loop some at a time, all of one evaluation; `arrow` and `pandas`
    compute the whole query again. Until the Result is closed, collected by Python, or its rows have
    been computed without ``df`` being taken, the cleaner keeps the files it reads.

    ``place_error`` gives an error that the rows meet its place in the statement.
    ``require_own_files``, called after rows were computed, raises an error if they may come from
    the files of another table.

    ``metrics`` of a MERGE are Delta Lake's counters, such as ``numTargetRowsInserted``; other
    statements have none.

    ``columns_added`` are the columns that WITH SCHEMA EVOLUTION has added to the target.
    """

    def __init__(
        self,
        kind: str,
        frame: Frame = NO_ROWS,
        *,
        message: str | None = None,
        rows_inserted: int | None = None,
        rows_updated: int | None = None,
        rows_deleted: int | None = None,
        metrics: Mapping[str, int] | None = None,
        legs: Sequence[InsertedLeg] = (),
        txn_id: int | None = None,
        write_ids: Mapping[str, int] | None = None,
        release: Callable[[], object] | None = None,
        require_own_files: Callable[[], object] = lambda: None,
    ) -> None:
        self.kind = kind
        self.message = message
        self.rows_inserted = rows_inserted
        self.rows_updated = rows_updated
        self.rows_deleted = rows_deleted
        self.metrics: dict[str, int] = dict(metrics or {})
        self.legs = list(legs)
        """Of a multi-insert: what each INSERT did, in the order of the text. Else empty."""
        self.columns_added: list[str] = []
        self.txn_id = txn_id
        self.write_ids: dict[str, int] = dict(write_ids or {})
        self.statement = ""
        self.line = self.column = 1
        self.elapsed_s = 0.0
        self.place_error: Callable[[SqlError], None] = lambda error: None
        self._frame = frame
        self._release = release
        self._require_own_files = require_own_files
        self._batches: RowBatches | None = None
        self._ready: deque[tuple[Any, ...]] = deque()
        self._given = 0
        self._at_end = self._cut_off = False
        self._df_taken = False

    @property
    def columns(self) -> list[str]:
        """The column names; [] for a statement that yields no rows."""
        return self._frame.columns

    @property
    def df(self) -> Any:
        """The rows as a lazy Spark DataFrame. Keep this Result for as long as you use it.

        AcidSqlError for a statement that yields no rows, or only text.
        """
        self._df_taken = True
        frame = self._frame.data_frame
        # So a caller who keeps nothing but the frame keeps the snapshot, too.
        frame._acidsql_result = self
        return frame

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that were not fetched yet."""
        if self._batches is None:
            rows = self._fetched(self._frame.rows)
            self._batches, self._at_end = ReadyRows([]), True
            self._given = len(rows)
            return rows
        return self.fetchmany(sys.maxsize)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        return next(iter(self), None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next ``size`` rows; fewer, or none, at the end."""
        return list(islice(self, size))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows that were not fetched yet, computed as they are asked for."""
        while self._ready or self._compute_more():
            self._given += 1
            yield self._ready.popleft()

    def arrow(self) -> pa.Table:
        """All rows as a pyarrow.Table."""
        table: pa.Table = self._fetched(self._frame.arrow)
        return table

    def pandas(self) -> pd.DataFrame:
        """All rows as a pandas.DataFrame."""
        frame: pd.DataFrame = self._fetched(self._frame.pandas)
        return frame

    def close(self) -> None:
        """Let go of the snapshot, and compute no more rows. Idempotent."""
        if self._batches is not None and not self._at_end:
            self._batches.close()
            self._cut_off = True
            self._ready.clear()
        self._release_once()

    def __enter__(self) -> Result:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        """What is known without a job."""
        return f"<Result {self.kind}: {self._state()}>"

    def _repr_html_(self) -> str:
        """The rows to be fetched next, up to `HTML_ROWS`, for a notebook; they stay to be fetched.

        An error is shown in their place.
        """
        try:
            while not self._cut_off and len(self._ready) <= HTML_ROWS and self._compute_more():
                pass
        except AcidSqlError as error:
            return f"<p>{escape(f'{type(error).__name__}: {error}')}</p>"
        is_read = self._given > 0 and not self._ready
        if self._frame is NO_ROWS or self._cut_off or is_read:
            return f"<p>{escape(self._state())}</p>"
        known = self._given + (len(self._ready) if self._at_end else HTML_ROWS)
        counted = ("" if self._at_end else "more than ") + count_text(known, "row")
        if self._given:
            counted += f", shown after the first {self._given}"
        shown = html_table(self.columns, islice(self._ready, HTML_ROWS))
        return f"{shown}<p>{escape(self.message or counted)}</p>"

    def _state(self) -> str:
        if self._frame is NO_ROWS:
            return summary(self)
        try:
            columns = ", ".join(self.columns)
        except AcidSqlError:  # Spark may be gone
            columns = "columns unknown"
        fetched = f"{count_text(self._given, 'row')} fetched"
        if self._batches is None:
            state = "not computed yet"
        elif self._cut_off:
            state = f"{fetched}, the others cannot be"
        elif self._at_end and not self._ready:
            state = f"{fetched}, no more"
        else:
            state = f"{fetched}, more to come"
        return f"({columns}), {state}"

    def _compute_more(self) -> bool:
        """Put more rows into `_ready`; False if there are no more."""
        if self._cut_off:
            raise AcidSqlError(
                "this result was closed, or failed, before all of its rows were read",
                hint="Run the query again, and read its rows before close().",
            )
        if self._batches is None:
            self._batches = self._frame.batches()
        before = len(self._ready)
        try:
            with self._placed():
                while len(self._ready) == before:
                    rows = next(self._batches)
                    self._require_own_files()
                    self._ready.extend(rows)
                    if self._batches.computed:
                        self._let_go_of_files()
        except StopIteration:
            self._at_end = True
            self._let_go_of_files()
        except BaseException:
            self._cut_off = True
            self._batches.close()
            self._let_go_of_files()
            raise
        return not self._at_end

    def _fetched(self, fetch: Callable[[], T]) -> T:
        try:
            with self._placed():
                fetched = fetch()
            self._require_own_files()
            return fetched
        finally:
            # After `fetchone` some rows may not be computed yet.
            if self._batches is None:
                self._let_go_of_files()

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """Give an error of SQL that the rows meet its place in the statement."""
        try:
            yield
        except SqlError as error:
            self.place_error(error)
            raise

    def _let_go_of_files(self) -> None:
        """Release the files of rows that are computed, or cannot be, unless ``df`` was taken."""
        if not self._df_taken:
            self._release_once()

    def _release_once(self) -> None:
        release, self._release = self._release, None
        if release is not None:
            release()


def summary(result: Result) -> str:
    """One line about what a statement did: its message, its counts and ids, or OK."""
    if result.message is not None:
        return result.message
    if result.legs:
        told = [f"{count_text(leg.rows, 'row')} inserted into {leg.table}" for leg in result.legs]
        return ", ".join(told) + _ids(result)
    counts = [
        (count, verb)
        for count, verb in (
            (result.rows_inserted, "inserted"),
            (result.rows_updated, "updated"),
            (result.rows_deleted, "deleted"),
        )
        if count is not None
    ]
    if not counts:
        return "OK"
    shown = [pair for pair in counts if pair[0]] or counts
    told = [f"{count_text(n, 'row')} {verb}" for n, verb in shown]
    if result.columns_added:
        added = count_text(len(result.columns_added), "column")
        told.append(f"{added} added: {', '.join(result.columns_added)}")
    return ", ".join(told) + _ids(result)


def _ids(result: Result) -> str:
    ids = [] if result.txn_id is None else [f"txn {result.txn_id}"]
    if len(result.write_ids) == 1:
        ids += [f"write id {write_id}" for write_id in result.write_ids.values()]
    else:
        ids += [f"{table} write id {write_id}" for table, write_id in result.write_ids.items()]
    return f" ({', '.join(ids)})" if ids else ""


def count_text(count: int, noun: str) -> str:
    """A count with its noun.

    >>> count_text(1, "row"), count_text(3, "row")
    ('1 row', '3 rows')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def text_rows(kind: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Result:
    """A result of rows that are already here."""
    return Result(kind, RowsFrame(list(columns), [tuple(row) for row in rows]))
