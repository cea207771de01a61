import pytest

from acidsql.errors import SqlSyntaxError
from acidsql.grammar.dialect import PlacedParseError, parse_expression_tree
from acidsql.grammar.escapes import hive_escapes, spark_escapes, string_value
from acidsql.grammar.hive_words import hive_words, spark_words
from acidsql.grammar.parse import parse


@pytest.mark.parametrize(
    ("spark", "hive"),
    [
        (r"x RLIKE r'\d+' -- r'\d'", r"x RLIKE '\\d+' -- r'\d'"),
        (r"""R"it's \" || 'r' || r'"'""", r""""it's \\" || 'r' || '"' """.rstrip()),
        (r"r'\'", r"'\\'"),
        (r"r'100\%'", r"'100\\%'"),
        (r"'\U0001F600\U00000041\\U0001F600'", r"'\ud83d\ude00\u0041\\U0001F600'"),
        (r"'\U00110000\ud83d'", r"'\U00110000\ud83d'"),
        (r"'\101\201\U1\u00'", r"'\101\201\U1\u00'"),
        (r"'a\%\_\n\u00e9\'' || `r'\d`", r"'a\%\_\n\u00e9\'' || `r'\d`"),
    ],
)
def test_escapes_for_hive(spark, hive):
    assert hive_escapes(spark) == hive
    assert hive_escapes(hive) == hive


@pytest.mark.parametrize(
    ("hive", "value"),
    [
        (r"'\U0001F600'", "U0001F600"),
        (r"'\u00e9\n\%'", "é\n\\%"),
    ],
)
def test_escapes_of_hive(hive, value):
    assert string_value(spark_escapes(hive)) == value


def test_quotes_and_escapes_together():
    assert hive_words(r"r'it''s \d'") == r"'it''s \d'"
    assert hive_words(r"r'\d''\d'") == r"'\\d''\d'"
    assert spark_words(r"'it''\U0001F600'") == "'it' 'U0001F600'"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (r"SELECT 'a', 'b\U0001F600\U00110000'", 13, "there is no character"),
        (r"INSERT INTO t VALUES ('\uD83D')", 23, "half of a character"),
        (r"SELECT '\ude00\ud83d'", 8, "half of a character"),
    ],
)
def test_a_text_with_what_is_no_character(text, column, message):
    with pytest.raises(SqlSyntaxError, match=message) as caught:
        parse(text)
    assert caught.value.column == column


@pytest.mark.parametrize("text", [r"r'\U00110000'", r"'\\U00110000\\ud83d'", r"'\ud83d\ude00'"])
def test_a_text_with_characters(text):
    parse(f"SELECT {text}")


@pytest.mark.parametrize("text", [r"'\U00110000'", r"'a\ud83d'"])
def test_a_text_of_another_program_with_what_is_no_character(text):
    with pytest.raises(PlacedParseError, match="character"):
        parse_expression_tree(f"s = {text}")
    # To Hive the first one has none that is missing.
    assert spark_words(text) in (text, "'U00110000'")
