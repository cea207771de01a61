"""Tables of which a further column could take the meaning of a name in a query."""

import pytest

from acidsql.grammar.parse import parse
from acidsql.planner.captured_names import capturing_tables

COLUMNS = {"a": {"id", "v", "s"}, "b": {"bid", "w"}, "c": {"id", "w", "current_date"}}


def capturing(text: str) -> list[str]:
    source = parse(text).source
    found = capturing_tables(source, [COLUMNS.get(ref.table) for ref in source.tables])
    return [source.tables[index].visible_name for index in sorted(found)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, v + 1 AS n FROM a WHERE s.x > 1 ORDER BY v",
        "SELECT a.id, x.w FROM a JOIN b AS x ON a.id = x.bid",
        "SELECT x.id, y.id FROM a AS x JOIN a AS y ON x.v = y.v WHERE X.ID > 1",
        "SELECT id, (SELECT count(*) FROM b) FROM a",
        "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE bid = 3 AND b.w = '1')",
        "SELECT id FROM (SELECT id FROM a) AS x",
        "SELECT n FROM (SELECT id AS n FROM a)",
        "SELECT n FROM (SELECT id, v FROM a) AS a JOIN registered AS r ON id = m",
        "WITH x AS (SELECT id FROM a) SELECT n FROM (SELECT id AS n FROM x)",
        "SELECT id FROM a UNION SELECT bid FROM b ORDER BY id",
        "SELECT current_date(), current_timestamp ( ) FROM a",
        "SELECT current_date FROM c",
        "SELECT id, (SELECT current_date FROM c) FROM a",
        "SELECT transform(array(id), x -> x + v) FROM a",
        "SELECT id FROM a JOIN c USING (id)",
        "SELECT id, f.n FROM registered AS f, (SELECT id FROM a)",
        "VALUES (1)",
    ],
)
def test_none_where_each_table_has_the_names_that_it_is_asked_for(text):
    assert capturing(text) == []


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE bid = id)", ["b"]),
        ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.bid = a.id)", ["b"]),
        ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE bid = s.id)", ["b"]),
        ("SELECT id FROM a WHERE id IN (SELECT id FROM b)", ["b"]),
        ("SELECT id, (SELECT max(w) FROM b WHERE bid = id) AS w FROM a", ["b"]),
        ("SELECT id FROM a JOIN b ON id = bid", ["a", "b"]),
        ("SELECT a.id FROM a JOIN b ON EXISTS (SELECT 1 FROM c WHERE c.id = v)", ["b", "c"]),
        ("SELECT v + 1 AS n, n * 2 AS m FROM a", ["a"]),
        ("SELECT v AS g, count(*) FROM a GROUP BY g", ["a"]),
        ("SELECT id, x FROM a LATERAL VIEW explode(array(v)) e AS x", ["a"]),
        ("SELECT id FROM a, LATERAL (SELECT w FROM b WHERE bid = id)", ["b"]),
        ("SELECT x FROM a AS t (x, y, z)", ["t"]),
        ("SELECT id, CURRENT_DATE FROM a", ["a"]),
        ("SELECT id, session_user FROM a", ["a"]),
        ("SELECT id, user FROM a", ["a"]),
        ("WITH x AS (SELECT id AS n, n AS m FROM a) SELECT m FROM x", ["a"]),
        ("SELECT id FROM (a JOIN b ON a.id = bid)", ["a", "b"]),
        (
            "SELECT a.id FROM (a JOIN b ON EXISTS (SELECT 1 FROM c WHERE c.id = bid))",
            ["a", "c"],
        ),
    ],
)
def test_a_name_that_a_table_does_not_have(text, tables):
    assert capturing(text) == tables
