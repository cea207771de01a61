"""Hive's words for an instant, which Spark reads as TIMESTAMP_LTZ."""

import pytest

from acidsql.errors import SqlSyntaxError
from acidsql.grammar.hive_words import hive_words
from acidsql.grammar.parse import parse


def read_as(expression):
    """The text that Spark gets for an expression, without the spaces that keep all places."""
    text = parse(f"SELECT {expression}").source.text
    assert len(text) == len(f"SELECT {expression}")
    return " ".join(text.removeprefix("SELECT ").split())


@pytest.mark.parametrize(
    "text",
    [
        "2005-01-03 02:01:00 GMT",
        "2005-01-03 02:01:00 Europe/London",
        "2005-01-03 02:01:00.30 America/Argentina/Buenos_Aires",
        "2005-01-03 02:01:00 +08:00",
        "2005-01-03 02:01:00-08:00",
        "2005-01-03 02:01:00 UTC+08:00",
        "2005-01-03 02:01:00 Etc/GMT-3",
        "2005-01-03 02:01:00.123456000 Z",
        "2005-01-03 02:01:00",
        "2005-01-03",
    ],
)
def test_literals(text):
    assert read_as(f"TimestampLocalTZ '{text}'") == f"TIMESTAMP_LTZ '{text}'"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("foo", "no timestamp"),
        ("2005-1-3 2:1:0 GMT", "no timestamp"),
        ("2005-01-03 02:01 GMT", "no timestamp"),
        ("2005-01-03T02:01:00Z", "no timestamp"),
        ("2005-01-03 02:01:00 Europe/London x", "no timestamp"),
        ("2005-01-03 GMT", "the time of day is missing"),
        ("2005-02-30 02:01:00 GMT", "no such day"),
        ("2005-01-03 24:00:00 GMT", "no such day or time"),
        ("2005-01-03 02:01:00 BST", "BST is the name of several zones"),
        ("2005-01-03 02:01:00.1234567 GMT", "six digits"),
    ],
)
def test_texts_that_spark_would_misread_or_not_read(text, why):
    with pytest.raises(SqlSyntaxError, match=why) as caught:
        parse(f"SELECT a,\n TIMESTAMPLOCALTZ '{text}'")
    assert (caught.value.line, caught.value.column) == (2, 19)


@pytest.mark.parametrize("kind", ["timestamp with local time zone", "TimestampLocalTZ"])
def test_types_in_casts(kind):
    assert read_as(f"CAST(a AS {kind})") == "CAST(a AS TIMESTAMP_LTZ )"
    assert read_as(f"try_cast((b) AS {kind})") == "try_cast((b) AS TIMESTAMP_LTZ )"


def test_words_of_several_lines_stay_on_their_lines():
    text = parse("SELECT CAST(a AS timestamp with\nlocal\ttime zone), b").source.text
    assert [line.rstrip() for line in text.split("\n")] == [
        "SELECT CAST(a AS TIMESTAMP_LTZ",
        "               ), b",
    ]


def test_the_first_of_the_words_cannot_have_a_line_to_itself():
    with pytest.raises(SqlSyntaxError, match="a line ends behind TIMESTAMP") as caught:
        parse("SELECT CAST(a AS timestamp\nwith local time zone)")
    assert (caught.value.line, caught.value.column) == (1, 18)


@pytest.mark.parametrize(
    "expression",
    [
        "timestamplocaltz",
        "1 AS timestamplocaltz",
        "(SELECT 1 AS timestamplocaltz)",
        "t.timestamplocaltz",
        "`timestamplocaltz`",
        "'timestamplocaltz', 'x'",
    ],
)
def test_a_name_stays_a_name(expression):
    assert read_as(expression) == expression


def test_values_of_a_write():
    update = parse("UPDATE t SET at = TIMESTAMPLOCALTZ '2005-01-03 02:01:00 GMT' WHERE id = 1")
    assert update.assignments[0].value.text.split() == [
        "TIMESTAMP_LTZ", "'2005-01-03", "02:01:00", "GMT'",
    ]  # fmt: skip


def test_each_leg_of_a_multi_insert_has_its_own_words():
    instant = "TIMESTAMPLOCALTZ '2005-01-03 02:01:00 GMT'"
    legs = parse(f"FROM s INSERT INTO a SELECT {instant} INSERT INTO b SELECT 1, {instant}").legs
    words = [" ".join(leg.source.text.split()) for leg in legs]
    spark = "TIMESTAMP_LTZ '2005-01-03 02:01:00 GMT'"
    assert words == [f"FROM s SELECT {spark}", f"FROM s SELECT 1, {spark}"]


@pytest.mark.parametrize(
    "written",
    [
        "SELECT TIMESTAMPLOCALTZ '2005-01-03 02:01:00 GMT' AS a, b FROM t",
        "SELECT CAST(a AS timestamp with local time zone) AS b FROM t",
        "SELECT try_cast(TIMESTAMPLOCALTZ '2005-01-03' AS timestamp with local time zone), 1",
    ],
)
def test_hives_words_come_back(written):
    assert hive_words(parse(written).source.text) == written


def test_the_long_words_of_a_literal_come_back_as_hives_short_ones():
    text = parse("SELECT timestamp with local time zone '2005-01-03' + x").source.text
    assert hive_words(text) == "SELECT TIMESTAMPLOCALTZ '2005-01-03' + x"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT timestamp_ltz FROM t",
        r"SELECT t.TIMESTAMP_LTZ, 'a TIMESTAMP_LTZ \'b\' ' FROM t",
        "SELECT a AS timestamp_ltz FROM t -- TIMESTAMP_LTZ '2005-01-03'",
        "SELECT f(a) AS `TIMESTAMP_LTZ` FROM t",
    ],
)
def test_other_names_and_texts_are_no_words_of_instants(text):
    assert hive_words(text) == text


def test_a_line_break_and_a_comment_behind_the_word_stay():
    given = "SELECT TIMESTAMP_LTZ\n  '2005-01-03', CAST(a AS TIMESTAMP_LTZ /* b */)"
    wanted = (
        "SELECT TIMESTAMPLOCALTZ\n  '2005-01-03', CAST(a AS timestamp with local time zone /* b */)"
    )
    assert hive_words(given) == wanted
