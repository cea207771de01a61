"""acidsql/result.py, over a frame that tells what is asked of it"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

import pytest

from acidsql.errors import AcidSqlError, ExecutionError
from acidsql.execution.result import HTML_ROWS, Result, text_rows


@dataclass
class Batches:
    """The RowBatches port over given batches; an exception among them is raised."""

    batches: list[list[tuple[Any, ...]] | BaseException]
    closed: bool = False

    @property
    def computed(self) -> bool:
        return not self.batches

    def __iter__(self) -> Iterator[list[tuple[Any, ...]]]:
        return self

    def __next__(self) -> list[tuple[Any, ...]]:
        if self.closed or not self.batches:
            raise StopIteration
        batch = self.batches.pop(0)
        if isinstance(batch, BaseException):
            raise batch
        return batch

    def close(self) -> None:
        self.closed = True


@dataclass
class Frame:
    """The Frame port: six rows in four batches, the third of them empty."""

    stream: Batches = field(
        default_factory=lambda: Batches([[(0,), (1,)], [(2,)], [], [(3,), (4,), (5,)]])
    )
    columns: tuple[str, ...] = ("n",)
    types: tuple[str, ...] = ("int",)
    data_frame: Any = field(default_factory=type("DataFrame", (), {}))
    evaluations: int = 0

    def rows(self) -> list[tuple[Any, ...]]:
        self.evaluations += 1
        return [(n,) for n in range(6)]

    def batches(self) -> Batches:
        self.evaluations += 1
        return self.stream

    def arrow(self) -> Any:
        self.evaluations += 1
        return self.rows()

    pandas = arrow


class Lease:
    held = True

    def release(self) -> None:
        assert self.held, "released once"
        self.held = False


@pytest.fixture
def lease() -> Lease:
    return Lease()


@pytest.fixture
def frame() -> Frame:
    return Frame()


@pytest.fixture
def result(frame, lease) -> Result:
    return Result("select", frame, release=lease.release)


def test_rows_are_computed_as_they_are_asked_for(result, frame, lease):
    assert result.fetchone() == (0,)
    assert len(frame.stream.batches) == 3
    assert result.fetchmany(2) == [(1,), (2,)]
    assert len(frame.stream.batches) == 2
    assert lease.held
    assert result.fetchmany(10) == [(3,), (4,), (5,)]
    assert result.fetchmany(10) == []
    assert result.fetchone() is None
    assert result.fetchall() == []
    assert frame.evaluations == 1
    assert not lease.held


@pytest.mark.parametrize("first", [0, 1, 2, 3, 5, 6])
def test_the_rest_is_of_the_same_evaluation(result, frame, first: int):
    head = [result.fetchone() for _ in range(first)]
    assert head + result.fetchall() == [(n,) for n in range(6)]
    assert result.fetchall() == []
    assert frame.evaluations == 1


def test_a_loop_goes_on_where_another_was_left(result):
    for row in result:
        if row == (2,):
            break
    assert list(result) == [(3,), (4,), (5,)]


def test_the_files_are_let_go_when_all_is_computed_though_not_read(result, lease):
    assert result.fetchmany(4) == [(0,), (1,), (2,), (3,)]
    assert not lease.held
    assert result.fetchall() == [(4,), (5,)]


def test_rows_still_to_be_computed_keep_the_files(result, lease):
    """Computing all of them anew, in another form, does not compute those."""
    assert result.fetchone() == (0,)
    result.arrow()
    assert lease.held
    assert len(result.fetchall()) == 5
    assert not lease.held


def test_a_frame_that_went_out_keeps_the_files(result, lease):
    _ = result.df
    assert len(list(result)) == 6
    assert lease.held


def test_closing_early_computes_no_more(result, frame, lease):
    with result:
        assert result.fetchone() == (0,)
    assert frame.stream.closed
    assert len(frame.stream.batches) == 3
    assert not lease.held
    for fetch in (result.fetchone, result.fetchmany, result.fetchall, lambda: list(result)):
        with pytest.raises(AcidSqlError, match="before all of its rows were read"):
            fetch()
    result.close()


def test_closing_after_the_last_row(result):
    assert len(list(result)) == 6
    result.close()
    assert result.fetchone() is None
    assert result.fetchall() == []


@pytest.mark.parametrize("error", [ExecutionError("a task failed"), KeyboardInterrupt()])
def test_an_error_on_the_way_is_no_end(error, lease):
    frame = Frame(Batches([[(0,)], error]))
    result = Result("select", frame, release=lease.release)
    assert result.fetchone() == (0,)
    with pytest.raises(type(error)):
        result.fetchone()
    assert frame.stream.closed
    assert not lease.held
    with pytest.raises(AcidSqlError, match="before all of its rows were read"):
        result.fetchall()


def test_fetchall_at_once_is_one_job(result, frame, lease):
    assert result.fetchall() == [(n,) for n in range(6)]
    assert len(frame.stream.batches) == 4, "not touched"
    assert result.fetchone() is None
    assert not lease.held


def test_rows_of_text():
    result = text_rows("show", ["a"], [("x",), ("y",)])
    assert result.fetchone() == ("x",)
    assert result.fetchall() == [("y",)]
    assert text_rows("show", ["a"], []).fetchone() is None


# -- how a Result shows itself -----------------------------------------------------------------


def long(rows: int) -> Result:
    return Result("select", Frame(Batches([[(n,)] for n in range(rows)])))


def test_a_repr_computes_nothing(result, frame):
    assert repr(result) == "<Result select: (n), not computed yet>"
    assert frame.evaluations == 0
    result.fetchone()
    assert repr(result) == "<Result select: (n), 1 row fetched, more to come>"
    result.fetchall()
    assert repr(result) == "<Result select: (n), 6 rows fetched, no more>"


def test_the_repr_of_a_write_and_of_one_that_was_closed(result):
    written = Result("insert", rows_inserted=2, txn_id=5, write_ids={"default.t": 3})
    assert repr(written) == "<Result insert: 2 rows inserted (txn 5, write id 3)>"
    assert written._repr_html_() == "<p>2 rows inserted (txn 5, write id 3)</p>"
    result.fetchone()
    result.close()
    assert repr(result) == "<Result select: (n), 1 row fetched, the others cannot be>"
    assert result._repr_html_() == "<p>(n), 1 row fetched, the others cannot be</p>"


def test_the_html_form_leaves_the_rows_to_be_fetched(result, frame):
    html = result._repr_html_()
    assert html.count("<td>") == 6
    assert html.endswith("<p>6 rows</p>")
    assert result._repr_html_() == html
    assert result.fetchone() == (0,)
    assert result._repr_html_().endswith("<p>6 rows, shown after the first 1</p>")
    assert result.fetchall() == [(n,) for n in range(1, 6)]
    assert result._repr_html_() == "<p>(n), 6 rows fetched, no more</p>"
    assert frame.evaluations == 1


@pytest.mark.parametrize(
    ("rows", "shown", "told"),
    [
        (0, 0, "0 rows"),
        (HTML_ROWS, HTML_ROWS, "100 rows"),
        (HTML_ROWS + 50, HTML_ROWS, "more than 100 rows"),
    ],
)
def test_the_html_form_counts_what_it_knows(rows: int, shown: int, told: str):
    result = long(rows)
    html = result._repr_html_()
    assert html.count("<td>") == shown
    assert html.endswith(f"<p>{told}</p>")
    assert len(result.fetchall()) == rows


def test_the_html_form_is_escaped():
    bad = "<script>alert('&')</script>"
    assert "<script" not in text_rows(bad, [bad], [(bad,)])._repr_html_()
    assert "<script" not in Result(bad, message=bad)._repr_html_()
    failed = Result("select", Frame(Batches([ExecutionError(bad)])))
    assert failed._repr_html_() == f"<p>ExecutionError: {escape(bad)}</p>"
