"""Variables in scripts, and in no other statement."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest

import acidsql
from acidsql.errors import SqlSyntaxError, TableNotFoundError, UnsupportedStatementError
from acidsql.session.script import OWN_SCRIPTS
from acidsql.session.session import Session


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with acidsql.connect(tmp_path / "w", metastore="memory:") as session:
        yield session


def run(session: Session, script: str) -> list[tuple[object, ...]]:
    """The rows of the last result of a script."""
    last = None
    for result in session.execute_script(script):
        last = result
    assert last is not None
    return last.fetchall()


def test_a_set_acts_on_the_statements_after_it(session: Session) -> None:
    script = """
        SET hivevar:kind = ('transactional' = 'true');
        SET name=orders;
        CREATE TABLE ${hiveconf:name} (k int) TBLPROPERTIES ${kind};
        SET name=${hiveconf:name}_old;
        CREATE TABLE ${hiveconf:name} (k int) TBLPROPERTIES ${hivevar:kind};
        SHOW TABLES LIKE '${hiveconf:name}' -- ${hiveconf:no}
    """
    assert run(session, script) == [("orders_old",)]
    assert run(session, "SHOW TABLES LIKE '${name}'") == []  # only hivevar: goes without prefix
    result = session.execute("SHOW TABLES LIKE '${hiveconf:name}'", variables=True)
    assert result.fetchall() == [("orders_old",)]
    assert result.statement == "SHOW TABLES LIKE '${hiveconf:name}'"


def test_a_property_has_the_value_in_force(session: Session) -> None:
    script = "SET retries=${hiveconf:hive.lock.numretries}; SET retries"
    assert run(session, script) == [("retries=100",)]


def test_a_statement_of_its_own_has_none(session: Session) -> None:
    session.execute("SET hivevar:t=x")
    with pytest.raises(
        UnsupportedStatementError, match=r"variables are not replaced here: \$\{t\}"
    ):
        session.execute("DROP TABLE ${t}")
    assert session.execute("SHOW TABLES LIKE '${t}'").fetchall() == []


def test_errors_are_at_the_place_in_the_script(session: Session) -> None:
    session.set("hivevar:long", "SHOW\nPARTITIONS")
    with pytest.raises(TableNotFoundError) as missing:
        run(session, "SHOW TABLES;\n ${long} no_such")
    assert (missing.value.line, missing.value.column) == (2, 10)
    with pytest.raises(UnsupportedStatementError, match=r"\$\{no\} has no value") as undefined:
        run(session, "\n ${long} ${no}")
    assert (undefined.value.line, undefined.value.column) == (2, 10)


def test_a_value_ends_no_statement(session: Session) -> None:
    session.execute("CREATE TABLE t (k int) TBLPROPERTIES ('transactional' = 'true')")
    session.set("hivevar:x", "'a'; DROP TABLE t")
    with pytest.raises(SqlSyntaxError, match=r"the value of \$\{x\} has a semicolon") as caught:
        run(session, "SHOW TABLES;\nSHOW TABLES LIKE ${x}")
    assert (caught.value.line, caught.value.column) == (2, 18)
    assert run(session, "SHOW TABLES") == [("t",)]


def test_replacing_can_be_turned_off_and_limited(session: Session) -> None:
    run(session, "SET hivevar:a=b; SET hive.variable.substitute=false; SET x=${a}")
    assert session.execute("SET x").fetchall() == [("x=${a}",)]
    with pytest.raises(UnsupportedStatementError, match="variables are not replaced here"):
        run(session, "SHOW TABLES LIKE '${hivevar:a}'")
    run(session, "SET hive.variable.substitute=true; SET y=${a}${hiveconf:x}; SET y")
    assert session.execute("SET y").fetchall() == [("y=bb",)]
    with pytest.raises(SqlSyntaxError, match="more than 0 times over"):
        run(session, "SET hive.variable.substitute.depth=0; SHOW TABLES LIKE '${a}'")


def test_only_who_connects_opens_the_environment(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACIDSQL_TEST", "here")
    for variable in ("env:ACIDSQL_TEST", "system:user.home"):
        with pytest.raises(UnsupportedStatementError, match="has no value") as caught:
            run(session, f"SHOW TABLES LIKE '${{{variable}}}'")
        assert "acidsql.allow.environment" in str(caught.value.hint)
    run(session, "SET system:mine=1; SET x=${system:mine}${env:ACIDSQL_TEST}")
    assert session.execute("SET x").fetchall() == [("x=1${env:ACIDSQL_TEST}",)]
    with acidsql.connect(tmp_path / "o", metastore="memory:", config=OWN_SCRIPTS) as own:
        own_user = "SET x=${env:ACIDSQL_TEST} ${system:user.name} ${system:no}; SET x"
        assert run(own, own_user) == [(f"x=here {getpass.getuser()} ${{system:no}}",)]


def test_secrets_of_connect_are_no_values(tmp_path: Path) -> None:
    config = {"spark.hadoop.fs.s3a.secret.key": "s3cret", "spark.app.name": "mine"}
    with acidsql.connect(tmp_path / "w", metastore="memory:", config=config) as session:
        assert run(session, "SET x=${hiveconf:spark.app.name}; SET x") == [("x=mine",)]
        with pytest.raises(UnsupportedStatementError, match="has no value"):
            run(session, "SHOW TABLES LIKE '${hiveconf:spark.hadoop.fs.s3a.secret.key}'")
