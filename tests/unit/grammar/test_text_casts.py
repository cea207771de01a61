"""CAST to char(n) and varchar(n), which Spark takes for casts to string."""

import pytest

from acidsql.errors import SqlSyntaxError, UnsupportedStatementError
from acidsql.grammar.parse import parse


def read_as(expression):
    """The text that Spark gets for an expression."""
    source = parse(f"SELECT {expression}").source
    assert source.text == f"SELECT {expression}"
    return source.row_text.removeprefix("SELECT ")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("CAST(a AS varchar(3)) IS NULL", "substr(CAST(a AS string), 1, 3) IS NULL"),
        # In a select list, the CAST of a column keeps its name.
        ("CAST(a AS varchar(3))", "substr(CAST(a AS string), 1, 3) AS `a`"),
        ("cast ( a as VARCHAR ( 3 ) )", "substr(cast ( a as string ), 1, 3) AS `a`"),
        (
            "b, CAST((t.`c``d`) AS char(1)), 1",
            "b, rtrim(substr(CAST((t.`c``d`) AS string), 1, 1)) AS `c``d`, 1",
        ),
        (
            "f(CAST(a AS varchar(3)), (SELECT CAST(b AS varchar(2))))",
            "f(substr(CAST(a AS string), 1, 3), (SELECT substr(CAST(b AS string), 1, 2) AS `b`))",
        ),
        ("CAST(a AS char(3)) x", "rtrim(substr(CAST(a AS string), 1, 3)) x"),
        ("try_cast(a AS CHARACTER(3))", "rtrim(substr(try_cast(a AS string), 1, 3)) AS `a`"),
        (
            "CAST(CAST(a AS char(4)) AS varchar(2)), 1",
            "substr(CAST(rtrim(substr(CAST(a AS string), 1, 4)) AS string), 1, 2), 1",
        ),
        (
            "CAST((SELECT CAST(b AS varchar(2)) AS c) AS varchar(1))",
            "substr(CAST((SELECT substr(CAST(b AS string), 1, 2) AS c) AS string), 1, 1)",
        ),
        # Another CAST inside is no column of theirs.
        (
            "CAST((SELECT CAST(b AS int)) AS varchar(1)), CAST((SELECT c::int) AS char(1)) AS d",
            "substr(CAST((SELECT CAST(b AS int)) AS string), 1, 1),"
            " rtrim(substr(CAST((SELECT c::int) AS string), 1, 1)) AS d",
        ),
        ("CAST(a AS varchar\n(3))", "substr(CAST(a AS string\n), 1, 3) AS `a`"),
        ("CAST(a AS string), t.cast, b AS varchar", "CAST(a AS string), t.cast, b AS varchar"),
        ("char(65), 'CAST(a AS varchar(3))'", "char(65), 'CAST(a AS varchar(3))'"),
        ("CAST(char(65) AS int)", "CAST(char(65) AS int)"),
    ],
)
def test_what_spark_reads(written, read):
    assert read_as(written) == read


@pytest.mark.parametrize("length", [0, 65536])
def test_lengths_that_there_are_not(length):
    with pytest.raises(SqlSyntaxError) as caught:
        parse(f"SELECT 1,\n CAST(a AS varchar({length}))")
    assert (caught.value.line, caught.value.column) == (2, 12)


@pytest.mark.parametrize(
    "expression",
    [
        "CAST(a AS array<varchar(3)>)",
        "CAST(a AS struct<b:char(3)>)",
        "a::varchar(3)",
        "(a)::char(2)",
    ],
)
def test_what_is_refused(expression):
    with pytest.raises(UnsupportedStatementError, match="is not supported in a CAST"):
        parse(f"SELECT {expression}")


@pytest.mark.parametrize("kind", ["char(2)", "VARCHAR(2)", "character(2)"])
def test_samples_hash_no_such_text(kind):
    with pytest.raises(UnsupportedStatementError, match="ON in TABLESAMPLE takes no CAST"):
        parse(f"SELECT * FROM t TABLESAMPLE (BUCKET 1 OUT OF 2 ON cast(a AS {kind}))")
