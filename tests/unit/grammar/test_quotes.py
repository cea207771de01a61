import pytest

from acidsql.grammar.hive_words import spark_words
from acidsql.grammar.quotes import escaped_quotes, parted_quotes


@pytest.mark.parametrize(
    ("spark", "hive"),
    [
        ("SELECT 'it''s', x", r"SELECT 'it\'s', x"),
        ("''''", r"'\''"),
        (r""" "a""b" || 'c""d' """, r""" "a\"b" || 'c""d' """),
        (r"'a\\''b\''", r"'a\\\'b\''"),
        ("'a''' 'b'", r"'a\'' 'b'"),
        ("'' || \"\"", "'' || \"\""),
        ("`a''b` -- it''s\n + 'c''\n'", "`a''b` -- it''s\n + 'c\\'\n'"),
        ("/* '' */ r'a' || ''", "/* '' */ r'a' || ''"),
    ],
)
def test_quotes_inside_of_texts(spark, hive):
    assert escaped_quotes(spark) == hive
    assert escaped_quotes(hive) == hive


@pytest.mark.parametrize(
    ("hive", "spark"),
    [
        ("SELECT 'it''s', x", "SELECT 'it' 's', x"),
        ("''''", "'' ''"),
        ("""'a""b' || "c''d" || "e""f" """, """'a""b' || "c''d" || "e" "f" """),
        (r"'a\\''b\''", r"'a\\' 'b\''"),
        (r"""'a\"''\"b'""", r"""'a\"' '\"b'"""),
    ],
)
def test_doubled_quotes_of_hive(hive, spark):
    assert parted_quotes(hive) == spark
    assert parted_quotes(spark) == escaped_quotes(spark) == spark


@pytest.mark.parametrize("end", ["'open", '"open', "`open", "/* open"])
def test_a_text_of_another_program_that_is_not_closed(end):
    assert spark_words(f"'it''s' {end}") == f"'it''s' {end}"
