"""Variables become parts of a statement, and decide neither where it ends nor what is a comment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import SqlError, SqlSyntaxError, UnsupportedStatementError
from acidsql.grammar.parse import parse
from acidsql.grammar.place import place_of_name
from acidsql.grammar.replaced import Replaced
from acidsql.grammar.variables import COUNT_MAX, LENGTH_MAX, replace_variables
from acidsql.statements import Query, SetConfiguration


def replaced(text: str, **values: str) -> Replaced:
    return replace_variables(text, values.get, line=5, column=3)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("SELECT ${a}, '${a}', \"${a}\", `${a}`", "SELECT 1, '1', \"1\", `1`"),
        ("${a}${a}", "11"),
        ("$${a} ${ a} ${} ${b} ${A} {a} $a", "$1 ${ a} ${} ${b} ${A} {a} $a"),
        ("1 -- ${a}\n/* ${a} */ + ${a} -- ${a}", "1 -- ${a}\n/* ${a} */ + 1 -- ${a}"),
        ("'-- ${a}' ${a}", "'-- 1' 1"),
        ("${${name}}", "1"),
        ("${outer} ${outer}", "x1y x1y"),
        ("${hiveconf:${name}}", "${hiveconf:a}"),
        ("${empty}${a}${empty}", "1"),
    ],
)
def test_what_becomes_of_a_text(text: str, after: str) -> None:
    values = {"a": "1", "name": "a", "outer": "x${${name}}y", "empty": ""}
    assert replace_variables(text, values.get).text == after


@given(
    st.lists(st.sampled_from(["ab", "${v}", "${w}", "${u}", "\n", " -- c\n", "'q'"]), max_size=12),
    st.sampled_from(["", "x", "long value", "${w}${w}"]),
    st.sampled_from(["", "y", "\n"]),
)
def test_each_character_knows_where_it_was_written(parts: list[str], v: str, w: str) -> None:
    text = "".join(parts)
    after = replaced(text, v=v, w=w)
    literal = [
        after.written[after.source_of(n)] == character
        for n, character in enumerate(after.text)
        if not after.piece_at(n).is_value
    ]
    assert all(literal)
    sources = [after.source_of(n) for n in range(len(after.text))]
    assert sources == sorted(sources)
    for n, source in enumerate(sources):
        if after.piece_at(n).is_value:
            assert text.startswith("${", source)


def test_rounds_are_counted_as_in_hive() -> None:
    values = {f"v{n}": f"${{v{n + 1}}}" for n in range(3)} | {"v3": "end"}
    assert replace_variables("${v0}", values.get, 4).text == "end"
    with pytest.raises(SqlSyntaxError, match="more than 3 times over"):
        replace_variables("${v0}", values.get, 3)
    with pytest.raises(SqlSyntaxError, match="more than 40 times over") as caught:
        replaced("${a}", a="${a}")
    assert (caught.value.line, caught.value.column) == (5, 3)


def test_a_text_that_doubles_with_each_round_has_an_end() -> None:
    values = {f"v{n}": f"${{v{n + 1}}}" * 2 for n in range(5)} | {"v5": "x" * (LENGTH_MAX // 4)}
    for text in ("${v0}", "${v3}" * (COUNT_MAX + 1)):
        with pytest.raises(SqlSyntaxError, match="the statement is too long"):
            replace_variables(text, values.get)


def test_errors_are_at_the_place_that_was_written() -> None:
    text = replaced("SELECT ${a},\n  ${b} FROM ${a} WHERE )", a="x\ny", b="1")
    with pytest.raises(SqlError) as caught:
        parse(text, 5, 3)
    assert (caught.value.line, caught.value.column) == (6, 24)
    query = parse(replaced("SELECT ${a} FROM\n ${b}, u", a="1 + 2", b="t"), 5, 3)
    assert isinstance(query, Query)
    assert [(r.table, r.line, r.column) for r in query.source.tables] == [("t", 6, 2), ("u", 6, 8)]
    merge = "MERGE INTO t USING u ON ${c} AND rand() > 0 WHEN MATCHED THEN DELETE"
    with pytest.raises(SqlError, match="cannot use") as nondeterministic:
        parse(replaced(merge, c="t.a\n=\nu.a"), 5, 3)
    assert (nondeterministic.value.line, nondeterministic.value.column) == (5, 36)
    text = replaced("SELECT ${a} FROM ${b}.t", a="12345678", b="d")
    assert place_of_name(text, ["d", "t"], 5, 3) == (5, 20)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("1; DROP TABLE t", "has a semicolon outside of quotes"),
        ("1;", "has a semicolon outside of quotes"),
        ("' ; x '", None),
        ("1 --", "begins a comment"),
        ("1 /* a */", "begins a comment"),
        ("/*", "unclosed comment"),
        ("'", "unclosed string"),
    ],
)
def test_a_value_stays_in_its_statement(value: str, why: str | None) -> None:
    text = replaced("DELETE FROM t WHERE /* b */ a = ${v} AND b = 1", v=value)
    if why is None:
        parse(text)
        return
    with pytest.raises(SqlSyntaxError, match=why) as caught:
        parse(text, 5, 3)
    assert (caught.value.line, caught.value.column) == (5, 35)
    if "unclosed" not in why:
        assert "the value of ${v} " in caught.value.message


def test_a_comment_that_a_value_only_ends_is_seen() -> None:
    with pytest.raises(SqlSyntaxError, match=r"the value of \$\{v\} begins a comment"):
        parse(replaced("SELECT 1 -${v} + 2", v="- 1"))
    with pytest.raises(SqlSyntaxError, match=r"the value of \$\{v\} begins a comment"):
        parse(replaced("SELECT 1 /* a */ ${v}", v="-- 1"))


@pytest.mark.parametrize("text", ["SELECT ${no}", "SELECT '${hivevar:no}'", "SELECT '${env:no}'"])
def test_what_has_no_value(text: str) -> None:
    with pytest.raises(UnsupportedStatementError, match=r"the variable \$\{.*no\} has no value"):
        parse(replaced(text))
    with pytest.raises(UnsupportedStatementError, match=r"variables are not replaced here: \$\{"):
        parse(text)


def test_what_stays_as_it_is() -> None:
    parse(replaced("SELECT '${no}', `${no}` -- ${hiveconf:no} ${no}"))
    assert parse(replaced("SET a = ${hiveconf:no}")) == SetConfiguration(
        "a", "${hiveconf:no}", 1, 5
    )


def test_many_variables() -> None:
    values = "(${a}, '${b}')," * 2000
    after = replaced(f"INSERT INTO t VALUES {values[:-1]}", a="1", b="two")
    assert after.text.count("two") == 2000
    assert len(after.pieces) > 8000
