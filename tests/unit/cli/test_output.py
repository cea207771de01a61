"""acidsql/cli/output.py"""

from __future__ import annotations

import csv
import io
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import Row

from acidsql.cli.output import FORMATS, Printer
from tests.unit.fakes import FakeResult

ROW_ID = Row(writeid=1, bucketid=536870912, rowid=0)
COLUMNS = ["row__id", "name", "amount", "day", "at", "data", "tags", "props", "ok"]
FULL = (
    ROW_ID,
    'a "b", c',
    Decimal("5.00"),
    date(2020, 1, 1),
    datetime(2020, 1, 1, 12, 34, 56, 500_000),
    b"\x00\xff",
    ["x", None],
    {"k": Decimal("1.10")},
    True,
)
EMPTY = (None,) * len(COLUMNS)


def printed(format: str, *results: FakeResult, quiet: bool = False) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    printer = Printer(format, out, err, quiet)
    for result in results:
        printer.print(result)
    return out.getvalue(), err.getvalue()


def full_result() -> FakeResult:
    return FakeResult(list(COLUMNS), [FULL, EMPTY])


def test_table():
    result = FakeResult(["row__id", "name", "salary"], [(ROW_ID, "Jerry", 5000), (None, None, 70)])
    assert printed("table", result)[0].splitlines() == [
        "+----------------------------------------------+-------+--------+",
        "| row__id                                      | name  | salary |",
        "+----------------------------------------------+-------+--------+",
        '| {"writeid":1,"bucketid":536870912,"rowid":0} | Jerry |   5000 |',
        "| NULL                                         | NULL  |     70 |",
        "+----------------------------------------------+-------+--------+",
        "(2 rows)",
    ]


def test_csv():
    assert printed("csv", full_result())[0] == (
        "row__id,name,amount,day,at,data,tags,props,ok\r\n"
        '"{""writeid"":1,""bucketid"":536870912,""rowid"":0}","a ""b"", c",5.00,2020-01-01,'
        '2020-01-01 12:34:56.5,00FF,"[""x"",null]","{""k"":1.10}",true\r\n'
        ",,,,,,,,\r\n"
    )


def test_csv_is_read_back_by_others():
    text = printed("csv", FakeResult(["a", "b"], [("line\nbreak", 'quote"')]))[0]
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["a", "b"],
        ["line\nbreak", 'quote"'],
    ]


def test_csv_tells_the_empty_string_from_null():
    assert printed("csv", FakeResult(["a", "b"], [("", None)]))[0] == 'a,b\r\n"",\r\n'


def test_tsv():
    result = FakeResult(["a", "b"], [(None, "tab\there\\\n"), (ROW_ID, "")])
    assert printed("tsv", result)[0] == (
        'a\tb\n\\N\ttab\\there\\\\\\n\n{"writeid":1,"bucketid":536870912,"rowid":0}\t\n'
    )


def test_json_keeps_the_digits_of_decimals():
    result = FakeResult(["d"], [(Decimal("12345678901234567890.120"),), (Decimal("0E-3"),)])
    assert printed("json", result)[0] == '[{"d":12345678901234567890.120},\n{"d":0.000}]\n'


def test_json_values():
    [row, nulls] = json.loads(printed("json", full_result())[0])
    assert row == {
        "row__id": {"writeid": 1, "bucketid": 536870912, "rowid": 0},
        "name": 'a "b", c',
        "amount": 5.0,
        "day": "2020-01-01",
        "at": "2020-01-01 12:34:56.5",
        "data": "AP8=",
        "tags": ["x", None],
        "props": {"k": 1.1},
        "ok": True,
    }
    assert set(nulls.values()) == {None}


@pytest.mark.parametrize(
    ("value", "text"),
    [(time(12, 34, 5, 600), "12:34:05.000600"), (timedelta(hours=1), "1:00:00")],
)
def test_a_time_of_day_or_an_interval_has_no_quotes_in_a_cell(value: object, text: str):
    def shown(format: str) -> str:
        return printed(format, FakeResult(["a"], [(value,)]))[0]

    assert (shown("csv"), shown("tsv")) == (f"a\r\n{text}\r\n", f"a\n{text}\n")
    assert f"| {text} |" in shown("table")
    assert shown("jsonl") == f'{{"a":"{text}"}}\n'


def test_json_of_no_rows():
    assert printed("json", FakeResult(["a"], []))[0] == "[]\n"


def test_jsonl():
    result = FakeResult(["a"], [(1,), (float("nan"),), ("é",)])
    assert printed("jsonl", result)[0] == '{"a":1}\n{"a":"NaN"}\n{"a":"é"}\n'


def test_two_results_follow_one_another():
    def two() -> list[FakeResult]:
        return [FakeResult(["a"], [(1,)]), FakeResult(["b"], [(2,)])]

    assert printed("csv", *two())[0] == "a\r\n1\r\n\r\nb\r\n2\r\n"
    assert printed("tsv", *two())[0] == "a\n1\n\nb\n2\n"
    assert printed("json", *two())[0] == '[{"a":1}]\n[{"b":2}]\n'


@pytest.mark.parametrize("format", FORMATS)
def test_summaries_keep_out_of_machine_formats(format: str):
    result = FakeResult(rows_inserted=3, txn_id=2, write_ids={"default.t": 1})
    line = "3 rows inserted (txn 2, write id 1)\n"
    assert printed(format, result) == ((line, "") if format == "table" else ("", line))
    assert printed(format, result, quiet=True) == ("", "")


def test_cells_cannot_move_the_cursor_or_style_the_terminal():
    text = printed("table", FakeResult(["[red]a"], [("\x1b[2J\n[bold]x[/]",)]))[0]
    assert "[red]a" in text
    assert "\\x1b[2J\\n[bold]x[/]" in text
    assert "\x1b" not in text


def test_wide_tables_are_not_cut():
    text = printed("table", FakeResult(["a", "b"], [("x" * 500, "y" * 500)]))[0]
    assert f"| {'x' * 500} | {'y' * 500} |" in text


def test_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    Printer("table", out, io.StringIO()).print(FakeResult(["a"], [("[b]",), (None,)]))
    assert "[b]" in out.getvalue()
    assert "╭" in out.getvalue()
