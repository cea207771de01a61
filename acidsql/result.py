"""What execute gives back: rows, counts, ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from acidsql.errors import AcidSqlError
from acidsql.plans.engine import Frame

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


T = TypeVar("T")


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

    def arrow(self) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - a result of text needs no Arrow

        columns = [[row[i] for row in self.values] for i in range(len(self.columns))]
        return pa.table([pa.array(c, pa.string()) for c in columns], names=self.columns)

    def pandas(self) -> pd.DataFrame:
        return self.arrow().to_pandas()


NO_ROWS = RowsFrame([], [])


class Result:
    """The outcome of one statement; a context manager that lets go of its snapshot at the end.

    A query is computed when its rows are asked for. Until it is closed, collected by Python, or
    its rows have been fetched without ``df`` being taken, the cleaner keeps the files it reads.
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
        txn_id: int | None = None,
        write_ids: Mapping[str, int] | None = None,
        release: Callable[[], object] | None = None,
    ) -> None:
        self.kind = kind
        self.message = message
        self.rows_inserted = rows_inserted
        self.rows_updated = rows_updated
        self.rows_deleted = rows_deleted
        self.txn_id = txn_id
        self.write_ids: dict[str, int] = dict(write_ids or {})
        self.statement = ""
        self.line = self.column = 1
        self.elapsed_s = 0.0
        self._frame = frame
        self._release = release
        self._rows: list[tuple[Any, ...]] | None = None
        self._next = 0
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
        # Whoever keeps the frame alone keeps the snapshot too.
        frame._acidsql_result = self
        return frame

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows that were not fetched yet."""
        rows = self._computed()[self._next :]
        self._next += len(rows)
        return rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row, or None."""
        rows = self._computed()
        if self._next >= len(rows):
            return None
        self._next += 1
        return rows[self._next - 1]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def arrow(self) -> pa.Table:
        """All rows as a pyarrow.Table."""
        table: pa.Table = self._fetched(self._frame.arrow)
        return table

    def pandas(self) -> pd.DataFrame:
        """All rows as a pandas.DataFrame."""
        frame: pd.DataFrame = self._fetched(self._frame.pandas)
        return frame

    def close(self) -> None:
        """Let go of the snapshot. Idempotent."""
        release, self._release = self._release, None
        if release is not None:
            release()

    def __enter__(self) -> Result:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _computed(self) -> list[tuple[Any, ...]]:
        if self._rows is None:
            self._rows = self._fetched(self._frame.rows)
        return self._rows

    def _fetched(self, fetch: Callable[[], T]) -> T:
        try:
            return fetch()
        finally:
            # What is fetched, or cannot be, needs its files no more, unless a frame went out.
            if not self._df_taken:
                self.close()


def summary(result: Result) -> str:
    """One line about what a statement did: its message, its counts and ids, or OK."""
    if result.message is not None:
        return result.message
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
    told = [pair for pair in counts if pair[0]] or counts
    return ", ".join(f"{count_text(n, 'row')} {verb}" for n, verb in told) + _ids(result)


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
