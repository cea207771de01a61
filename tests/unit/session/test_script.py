"""acidsql/script.py"""

from __future__ import annotations

import pytest

from acidsql.errors import SqlSyntaxError, TableNotFoundError
from acidsql.execution.result import summary
from acidsql.session.script import run_script
from tests.unit.fakes import FakeResult


def test_each_statement_runs_where_it_stands():
    seen = []
    script = "USE a;\n  SELECT 1; -- done;\nSELECT ';'"
    list(run_script(script, lambda text, line, column: seen.append((text, line, column))))
    assert seen == [("USE a", 1, 1), ("SELECT 1", 2, 3), ("-- done;\nSELECT ';'", 2, 13)]


def test_a_statement_runs_only_when_its_result_is_asked_for():
    seen = []
    results = run_script("a; b; c", lambda text, _line, _column: seen.append(text) or text)
    assert seen == []
    assert next(results) == "a"
    assert seen == ["a"]


def test_the_first_error_ends_the_script():
    seen = []

    def execute(text: str, line: int, column: int) -> str:
        seen.append(text)
        if text == "bad":
            raise TableNotFoundError("no such table", line=line, column=column)
        return text

    results = run_script("good;\n bad;\ngood", execute)
    assert next(results) == "good"
    with pytest.raises(TableNotFoundError) as error:
        next(results)
    assert (error.value.line, error.value.column) == (2, 2)
    assert list(results) == []
    assert seen == ["good", "bad"]


def test_what_stands_before_an_unclosed_quote_runs():
    seen = []
    with pytest.raises(SqlSyntaxError) as error:
        list(run_script("a;\nb 'oops", lambda text, _line, _column: seen.append(text)))
    assert seen == ["a"]
    assert error.value.line == 2


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (FakeResult(), "OK"),
        (FakeResult(message="Compaction enqueued with id 1"), "Compaction enqueued with id 1"),
        (
            FakeResult(rows_inserted=3, txn_id=2, write_ids={"default.t": 1}),
            "3 rows inserted (txn 2, write id 1)",
        ),
        (
            FakeResult(rows_inserted=3, columns_added=["a", "b"]),
            "3 rows inserted, 2 columns added: a, b",
        ),
        (
            FakeResult(rows_inserted=1, rows_updated=1, rows_deleted=0, txn_id=5),
            "1 row inserted, 1 row updated (txn 5)",
        ),
        (FakeResult(rows_updated=0), "0 rows updated"),
        (
            FakeResult(rows_deleted=2, txn_id=1, write_ids={"a.t": 1, "a.u": 4}),
            "2 rows deleted (txn 1, a.t write id 1, a.u write id 4)",
        ),
    ],
)
def test_summary(result: FakeResult, line: str):
    assert summary(result) == line
