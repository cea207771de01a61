import pytest

from acidsql.grammar.quotes import escaped_quotes


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
