"""Which expressions a sample of buckets hashes, and by which version."""

import pytest

from acidsql.errors import AnalysisError, UnsupportedStatementError
from acidsql.grammar.parse import parse
from acidsql.model.names import TableName
from acidsql.model.table import Bucketing, Column, Table
from acidsql.model.types import parse_type
from acidsql.planner.bucket_sample import planned_sample, refuse_sample

COLUMNS = (Column("k", parse_type("int")), Column("v", parse_type("string")))
BARE = Table(TableName("d", "t"), COLUMNS, "/t")
BUCKETED = Table(TableName("d", "t"), COLUMNS, "/t", bucketing=Bucketing(("v", "k"), 4, 1))


def texts(found):
    return tuple(key.text for key in found.keys)


def planned(sample, table=BARE, alias=""):
    fragment = parse(f"SELECT 1 FROM d.t {sample} {alias}").source
    return planned_sample(fragment, fragment.tables[0], table)


def test_a_table_without_a_sample_has_none():
    assert planned("") is None
    assert planned("TABLESAMPLE (10 PERCENT)") is None


def test_the_expressions_are_kept_as_they_are_written():
    found = planned("TABLESAMPLE (BUCKET 2 OUT OF 3 ON X.k + 1, d.x.k, v -- text\n)", alias="x")
    assert (found.number, found.count, found.name) == (2, 3, "x")
    assert texts(found) == ("X.k + 1", "d.x.k", "v")
    found = planned("TABLESAMPLE (BUCKET 1 OUT OF 2 ON d.t.k, d.t.v || d.t.v)")
    assert texts(found) == ("t.k", "t.v || t.v")


@pytest.mark.parametrize("on", ["", "ON v, k", "ON k, V", "ON k, k"])
def test_the_columns_of_the_buckets_are_hashed_in_their_own_order(on):
    found = planned(f"TABLESAMPLE (BUCKET 1 OUT OF 2 {on})", BUCKETED)
    assert texts(found) == ("`v`", "`k`")
    assert found.version == 1


@pytest.mark.parametrize("on", ["k", "t.k, t.v", "k, v, k", "k, upper(v)"])
def test_other_expressions_are_hashed_in_the_order_of_on(on):
    found = planned(f"TABLESAMPLE (BUCKET 1 OUT OF 2 ON {on})", BUCKETED)
    assert ", ".join(texts(found)) == on


CHARS = (
    Column("c", parse_type("char(3)")),
    Column("n", parse_type("struct<y:char(3),k:int>")),
    Column("k", parse_type("int")),
)


def test_columns_have_the_types_of_the_table():
    """Spark knows a char within a struct as a string, with its padding."""
    table = Table(TableName("d", "t"), CHARS, "/t")
    found = planned("TABLESAMPLE (BUCKET 1 OUT OF 2 ON c, T.n, d.t.c, k + 1)", table)
    assert [key.column for key in found.keys] == ["c", "n", "c", None]


@pytest.mark.parametrize("on", ["upper(c)", "n.y", "t.n.k", "k, struct(n)", "concat(t.c, '')"])
def test_what_is_computed_from_a_char_is_refused(on):
    table = Table(TableName("d", "t"), CHARS, "/t")
    with pytest.raises(UnsupportedStatementError, match="as Spark does not"):
        planned(f"TABLESAMPLE (BUCKET 1 OUT OF 2 ON {on})", table)


def test_a_table_without_buckets_needs_an_expression():
    with pytest.raises(AnalysisError, match="has no buckets") as caught:
        planned("TABLESAMPLE (BUCKET 1 OUT OF 2)")
    assert (caught.value.code, caught.value.column) == (10060, 15)


def test_the_version_is_that_of_the_table():
    """As in Hive, a table whose properties do not say has version 1."""
    on = "TABLESAMPLE (BUCKET 1 OUT OF 2 ON k)"
    newer = Table(TableName("d", "t"), COLUMNS, "/t", parameters={"bucketing_version": "2"})
    assert planned(on, newer).version == 2
    assert planned(on).version == 1


def test_only_a_table_has_a_sample_of_buckets():
    sampled = parse("SELECT 1 FROM v TABLESAMPLE (BUCKET 1 OUT OF 2 ON k)").source.tables[0]
    with pytest.raises(AnalysisError, match='"v" is no table'):
        refuse_sample(sampled)
    refuse_sample(parse("SELECT 1 FROM v TABLESAMPLE (1 ROWS)").source.tables[0])


def test_a_field_is_no_column():
    """Spark prefers a field of the column t to the column k of the table t."""
    columns = (Column("t", parse_type("struct<k:string>")), Column("k", parse_type("int")))
    table = Table(TableName("d", "t"), columns, "/t")
    found = planned("TABLESAMPLE (BUCKET 1 OUT OF 2 ON t.k, k, t, d.t.k)", table)
    assert [key.column for key in found.keys] == [None, "k", "t", "k"]
