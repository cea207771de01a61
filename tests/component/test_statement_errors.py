"""What a session adds to the error of a statement, without Spark: the place, the line, a hint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql import AcidSqlError, Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(str(tmp_path / "w"), metastore="memory:") as session:
        session.execute(
            "CREATE TABLE orders (id int, note string) STORED AS ORC"
            " TBLPROPERTIES ('transactional' = 'true')"
        )
        yield session


def refused(session: Session, sql: str, args: Any = None, **place: int) -> AcidSqlError:
    with pytest.raises(AcidSqlError) as info:
        session.execute(sql, args, **place)
    return info.value


def test_an_error_shows_its_line_with_a_caret(session: Session) -> None:
    error = refused(session, "UPDATE orders\n  SET note = WHERE id = 1")
    assert str(error) == '2:14: expected a value after "=", found "WHERE"'
    assert error.excerpt == "  SET note = WHERE id = 1\n             ^"
    assert error.sqlstate == "42601"


def test_the_excerpt_of_an_error_that_the_planner_finds(session: Session) -> None:
    error = refused(session, "DELETE FROM ordres", line=4, column=9)
    assert (error.line, error.column, error.sqlstate) == (4, 21, "42P01")
    assert error.excerpt == "  DELETE FROM ordres\n              ^"
    assert error.hint == 'Did you mean "orders"?'


def test_lines_of_a_script(session: Session) -> None:
    with pytest.raises(acidsql.SqlSyntaxError) as info:
        list(session.execute_script("USE default; USE\ndefault default;"))
    assert (info.value.line, info.value.column) == (2, 9)
    assert info.value.excerpt == "  default default\n          ^"
    with pytest.raises(acidsql.SqlSyntaxError) as info:
        list(session.execute_script("USE default;\nDELETE FROM orders WHERE note = 'x"))
    assert (info.value.line, info.value.column) == (2, 33)
    assert (
        info.value.excerpt
        == "  DELETE FROM orders WHERE note = '…\n                                  ^"
    )


def test_str_has_nothing_of_the_statement_but_the_fact(session: Session) -> None:
    """Logs print ``str``; the excerpt hides the text of strings, for a terminal may be logged."""
    error = refused(session, "INSERT INTO orders SELECT 1, 'hush', FROM t")
    assert "hush" not in f"{error}{error.excerpt}{error.args}"


@pytest.mark.parametrize(
    ("sql", "args", "fact", "column"),
    [
        ("DELETE FROM orders WHERE id = :wanted", None, "no value for the parameter :wanted", 31),
        ("DELETE FROM orders WHERE id = :a + :b", {"a": 1}, "no value for the parameter :b", 36),
        ("DELETE FROM orders WHERE id = ? OR id = ?", None, "no value for the parameter ?", 31),
        ("DELETE FROM orders WHERE id = ? OR id = ?", [1], "1 values for 2 parameters", 41),
        ("DELETE FROM orders WHERE id = ?", [1, 2], "2 values for 1 parameters", 1),
        ("DELETE FROM orders", [1], "1 values for 0 parameters", 1),
        ("INSERT INTO orders VALUES (1, 'x'), (2, :x)", {}, "no value for the parameter :x", 41),
        ("SELECT :x", {}, "no value for the parameter :x", 8),
    ],
)
def test_a_parameter_without_a_value(
    session: Session, sql: str, args: Any, fact: str, column: int
) -> None:
    error = refused(session, sql, args)
    assert (error.message, error.line, error.column) == (fact, 1, column)


def test_a_parameter_that_has_almost_the_name_of_an_argument(session: Session) -> None:
    error = refused(session, "DELETE FROM orders WHERE id = :wantde", {"wanted": 1})
    assert error.hint == 'The arguments have "wanted". Did you mean :wanted?'
