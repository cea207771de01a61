"""The text of a literal is the value a column holds, or an error; the rest is Spark's."""

from __future__ import annotations

import datetime
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from sqlglot import exp

from acidsql.errors import InvalidValueError
from acidsql.grammar.parse import parse
from acidsql.model.types import INTEGER_BITS, parse_type
from acidsql.model.value_text import timestamp_text
from acidsql.orc.schema import arrow_type
from acidsql.planner.literals import NotLiteral, cell_text
from acidsql.planner.predicates import literal_text
from acidsql.statements import Insert
from acidsql.statements.fragment import Fragment
from acidsql.statements.insert import ValueList
from tests.unit.odd_texts import odd_texts

spaces = st.sampled_from(["", " ", "\t", "  "])
decimals = st.decimals(
    allow_nan=False, allow_infinity=False, places=4, min_value=-(10**9), max_value=10**9
)


def value(sql: str) -> Fragment:
    statement = parse(f"INSERT INTO t VALUES ({sql})")
    assert isinstance(statement, Insert)
    assert isinstance(statement.source, ValueList)
    cell = statement.source.rows[0][0]
    assert isinstance(cell, Fragment)
    return cell


def text(sql: str, kind: str, **arguments: Any) -> str | None:
    return cell_text(value(sql), parse_type(kind), arguments, "c")


def bound(given_value: Any, kind: str) -> str | None:
    return text(":x", kind, x=given_value)


def quoted(content: str) -> str:
    return "'" + content.replace("\\", "\\\\").replace("'", "\\'") + "'"


def arrow(content: str | None, kind: str) -> Any:
    return pc.cast(pa.array([content], pa.string()), arrow_type(parse_type(kind)))[0].as_py()


@given(st.integers(-(2**65), 2**65), st.sampled_from(sorted(INTEGER_BITS)), spaces)
def test_integers(number: int, kind: str, space: str) -> None:
    bits = INTEGER_BITS[kind]
    forms = [lambda: text(str(number), kind), lambda: bound(number, kind)]
    forms.append(lambda: text(quoted(f"{space}{number}{space}"), kind))
    for form in forms:
        if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
            assert form() == str(number)
            assert arrow(form(), kind) == number
        else:
            with pytest.raises(InvalidValueError):
                form()


@given(decimals, st.integers(1, 38), st.integers(0, 38))
def test_decimals(number: Decimal, precision: int, scale: int) -> None:
    scale = min(precision, scale)
    kind = f"decimal({precision},{scale})"
    with localcontext() as context:
        context.prec = 80
        expected = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)
        fits = abs(expected) < Decimal(10) ** (precision - scale)
    for form in (
        lambda: text(f"{number:f}", kind),
        lambda: text(quoted(f" {number:f}"), kind),
        lambda: text(quoted(f"{number:e}"), kind),
        lambda: bound(number, kind),
    ):
        if fits:
            assert arrow(form(), kind) == expected
        else:
            with pytest.raises(InvalidValueError):
                form()


@pytest.mark.parametrize(
    "content", ["", " ", "1.2.3", "one", "0x1", "1_0", "١٢", "1e", "+-1", "NaN"]
)
@pytest.mark.parametrize("kind", ["int", "decimal(9,2)"])
def test_texts_that_are_no_numbers(content: str, kind: str) -> None:
    with pytest.raises(InvalidValueError):
        text(quoted(content), kind)


@pytest.mark.parametrize("number", [Decimal("NaN"), Decimal("Infinity"), Decimal("1e500")])
def test_decimals_that_are_no_decimals(number: Decimal) -> None:
    with pytest.raises(InvalidValueError):
        bound(number, "decimal(9,2)")


@pytest.mark.parametrize(
    ("sql", "kind", "expected"),
    [
        ("1Y", "tinyint", "1"),
        ("-127Y", "string", "-127"),
        ("2S", "int", "2"),
        ("3L", "decimal(5,1)", "3"),
        ("9223372036854775807L", "bigint", "9223372036854775807"),
        ("1000.01BD", "decimal(6,2)", "1000.01"),
        ("-0.5BD", "decimal(6,2)", "-0.5"),
        ("1.25BD", "decimal(6,1)", "1.3"),
        ("CAST('12' AS decimal(4,2))", "decimal(6,2)", "12"),
        ("DATE '2015-4-3'", "date", "2015-04-03"),
        ("DATE '2015-4-3'", "string", "2015-04-03"),
        ("'2015-4-13'", "date", "2015-04-13"),
        ("TRY_CAST('2015-4-13' AS date)", "date", "2015-04-13"),
        ("TIMESTAMP '2015-04-13 23:59:59.500'", "timestamp", "2015-04-13 23:59:59.5"),
        ("TIMESTAMP '2015-04-13T23:59:50'", "string", "2015-04-13 23:59:50"),
        ("CAST('2015-04-13 00:00:00.000000' AS timestamp)", "timestamp", "2015-04-13 00:00:00"),
    ],
)
def test_literals_with_a_type(sql: str, kind: str, expected: str) -> None:
    assert text(sql, kind) == expected


@pytest.mark.parametrize("kind", ["date", "string", "int"])
def test_a_literal_of_no_day(kind: str) -> None:
    with pytest.raises(InvalidValueError, match=r"'2019-2-29'.*does not fit"):
        text("DATE '2019-2-29'", kind)


def test_a_literal_of_no_time() -> None:
    with pytest.raises(InvalidValueError, match=r"'2019-02-28 24:00:00'.*does not fit"):
        text("TIMESTAMP '2019-02-28 24:00:00'", "timestamp")


@pytest.mark.parametrize("cast", ["CAST", "TRY_CAST"])
@pytest.mark.parametrize(
    ("content", "kind"), [("2019-2-29", "date"), ("2019-02-29 00:00:00", "timestamp")]
)
def test_spark_says_what_a_cast_of_another_text_is(cast: str, content: str, kind: str) -> None:
    with pytest.raises(NotLiteral):
        text(f"{cast}('{content}' AS {kind})", kind)


@pytest.mark.parametrize("sql", ["TIMESTAMP '2019-02-28 10:00:00Z'", "TIMESTAMP '2019-02-28'"])
def test_spark_reads_other_times(sql: str) -> None:
    with pytest.raises(NotLiteral):
        text(sql, "timestamp")


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("1.000000178813934326171874999", 1.0000001192092896),
        ("1152921573326323713", 2.0**60 + 2.0**37),
        ("16777217", 16777216.0),
        ("0.1", 0.10000000149011612),
        ("0", 0.0),
    ],
)
def test_a_float_is_rounded_once(sign: str, sql: str, expected: float) -> None:
    text = cell_text(value(f"{sign}{sql}"), parse_type("float"), {}, "c")
    assert text is not None
    assert float(text) == (-expected if sign else expected)


def test_an_integer_no_double_holds() -> None:
    with pytest.raises(InvalidValueError):
        bound(10**400, "double")


@given(odd_texts(12))
def test_strings(content: str) -> None:
    assert bound(content, "string") == content
    assert text(quoted(content), "string") == content
    for kind in ("varchar(5)",):
        if len(content.rstrip(" ")) > 5:
            with pytest.raises(InvalidValueError):
                bound(content, kind)
        else:
            assert bound(content, kind) == content[:5]


@given(st.dates(min_value=datetime.date(1, 1, 1)))
def test_dates(day: datetime.date) -> None:
    for found in (
        bound(day, "date"),
        text(f"DATE '{day.isoformat()}'", "date"),
        text(quoted(day.isoformat()), "date"),
    ):
        assert found == day.isoformat()
        assert arrow(found, "date") == day


@given(st.integers(0, 9999), st.integers(0, 99), st.integers(0, 99))
def test_days_that_do_not_exist(year: int, month: int, day: int) -> None:
    content = f"{year:04d}-{month:02d}-{day:02d}"
    try:
        datetime.date.fromisoformat(content)
    except ValueError:
        with pytest.raises(InvalidValueError):
            text(quoted(content), "date")
    else:
        assert text(quoted(content), "date") == content


@given(st.datetimes())
def test_timestamps(moment: datetime.datetime) -> None:
    for found in (
        bound(moment, "timestamp"),
        text(quoted(moment.isoformat(" ")), "timestamp"),
        text(quoted(moment.isoformat("T")), "timestamp"),
    ):
        assert found == timestamp_text(moment)
        assert arrow(found, "timestamp") == moment


@given(st.floats())
def test_doubles(number: float) -> None:
    found = bound(number, "double")
    assert found is not None
    assert repr(float(found)) == repr(number)


@given(st.binary(max_size=9))
def test_binary(content: bytes) -> None:
    found = bound(content, "binary")
    assert found is not None
    assert bytes.fromhex(found) == content


@pytest.mark.parametrize("said", ["true", "T", "Yes", "y", "1"])
def test_texts_of_booleans(said: str) -> None:
    opposite = {"true": "FALSE", "T": "f", "Yes": "no", "y": "N", "1": "0"}[said]
    assert text(quoted(said), "boolean") == bound(said, "boolean") == "true"
    assert text(quoted(opposite), "boolean") == bound(opposite, "boolean") == "false"


@pytest.mark.parametrize("kind", ["int", "decimal(9,2)", "string", "date", "boolean", "binary"])
def test_null_fits_everywhere(kind: str) -> None:
    assert text("NULL", kind) is None
    assert bound(None, kind) is None


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("1.5", "int"),
        ("1e2", "double"),
        ("true", "int"),
        ("1", "boolean"),
        ("'maybe'", "boolean"),
        ("' true'", "boolean"),
        ("'1.5'", "double"),
        ("1.50", "string"),
        ("DATE '2020-01-01'", "timestamp"),
        ("'2020-1-1 '", "date"),
        ("128Y", "tinyint"),
        ("CAST(1.5 AS bigint)", "bigint"),
        ("CAST('1.55' AS decimal(3,1))", "decimal(3,2)"),
        ("CAST('1' AS decimal)", "decimal(3,2)"),
        ("CAST('1' AS decimal(5))", "decimal(3,2)"),
        ("CAST('1' AS decimal(5L,2))", "decimal(3,2)"),
        ("CAST('1' AS decimal(5,2,1))", "decimal(3,2)"),
        ("CAST('1' AS decimal(39,2))", "decimal(3,2)"),
        ("CAST('1' AS decimal(a,b))", "decimal(3,2)"),
        ("CAST('abc' AS varchar(2))", "string"),
        ("'yesterday'", "date"),
        ("'2020-01-01'", "timestamp"),
        ("'x'", "binary"),
        ("1 + 1", "int"),
        ("array(1)", "array<int>"),
        (":missing", "int"),
    ],
)
def test_what_is_left_to_spark(sql: str, kind: str) -> None:
    with pytest.raises(NotLiteral):
        text(sql, kind)


def test_a_moment_with_a_zone_is_left_to_spark() -> None:
    with pytest.raises(NotLiteral):
        bound(datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc), "timestamp")
    with pytest.raises(NotLiteral):
        bound(datetime.datetime(2020, 1, 1), "date")


kinds = st.sampled_from(
    ["tinyint", "int", "bigint", "decimal(9,2)", "string", "date", "varchar(5)"]
)
values = st.one_of(
    st.integers(-(10**20), 10**20),
    decimals,
    odd_texts(5),
    st.dates(),
    st.booleans(),
    st.none(),
)


def test_a_predicate_keeps_every_digit_of_a_decimal() -> None:
    digits = "1234567890" * 3 + "123456"
    given_value, signaling = Decimal(f"-{digits}"), Decimal("sNaN")
    arguments = {"x": given_value, "nan": signaling}
    kind = parse_type("decimal(38,0)")
    assert literal_text(exp.Placeholder(this="x"), kind, arguments) == f"-{digits}"
    assert literal_text(exp.Placeholder(this="nan"), kind, arguments) is None


@given(values, kinds)
def test_a_predicate_compares_the_value_itself(given_value: Any, kind: str) -> None:
    """What prunes is the value, of the column's own kind; never something converted."""
    found = literal_text(exp.Placeholder(this="x"), parse_type(kind), {"x": given_value})
    if found is None:
        return
    assert not isinstance(given_value, bool)
    if kind == "date":
        assert datetime.date.fromisoformat(found) == given_value
    elif kind in ("string", "varchar(5)"):
        assert found == given_value
    else:
        assert Decimal(found) == given_value
        assert kind.startswith("decimal") or int(found) == given_value


@pytest.mark.parametrize("kind", ["double", "float"])
@pytest.mark.parametrize("sql", ["-0.0", "- .0", "-(0.00)", "-0.", "-0.0BD"])
def test_a_decimal_has_no_negative_zero(kind: str, sql: str) -> None:
    assert text(sql, kind) == "0.0"
    assert bound(Decimal("-0.0"), kind) == "0.0"
    assert bound(-0.0, kind) == "-0.0"


@pytest.mark.parametrize("kind", ["double", "float"])
@pytest.mark.parametrize("sql", ["-0e0", "-0.0D", "-0.0F"])
def test_a_double_is_left_to_spark(kind: str, sql: str) -> None:
    with pytest.raises(NotLiteral):
        text(sql, kind)


@pytest.mark.parametrize("kind", ["int", "bigint", "decimal(5,2)"])
def test_around_a_number_stand_the_control_characters_that_spark_trims(kind: str) -> None:
    for space in "\0\x01\t\n\r\x1f ":
        assert bound(f"{space}5{space}", kind) == "5"
    for space in "\x85\xa0\u1680\u2003\u200b":
        with pytest.raises(InvalidValueError):
            bound(f"{space}5", kind)
        with pytest.raises(InvalidValueError):
            bound(f"5{space}", kind)


def test_del_is_trimmed_off_whole_numbers_only() -> None:
    assert bound("\x7f5\x7f", "int") == "5"
    with pytest.raises(InvalidValueError):
        bound("\x7f5", "decimal(5,2)")


LONG = ["1" * 39, "-" + "1" * 39, "1" * 38 + ".5", "0." + "5" * 39, "0." + "0" * 39]


@pytest.mark.parametrize("kind", ["double", "float", "string", "varchar(50)", "decimal(38,0)"])
@pytest.mark.parametrize("sql", LONG)
def test_a_number_longer_than_any_decimal_is_left_to_spark(kind: str, sql: str) -> None:
    with pytest.raises(NotLiteral):
        text(sql, kind)


def test_leading_zeros_make_no_number_longer() -> None:
    assert text("0" * 10 + "1" * 29, "string") == "1" * 29
    assert text("1" * 38, "decimal(38,0)") == "1" * 38


def test_a_long_list_has_the_same_values() -> None:
    """Its rows are read without sqlglot."""
    statement = parse("INSERT INTO t VALUES " + ", ".join(["(-0.0)"] * 50 + [f"({'1' * 39})"]))
    assert isinstance(statement, Insert)
    assert isinstance(statement.source, ValueList)
    rows = [row for (row,) in statement.source.rows]
    double = parse_type("double")
    assert {cell_text(row, double, {}, "c") for row in rows[:50]} == {"0.0"}
    with pytest.raises(NotLiteral):
        cell_text(rows[50], double, {}, "c")
