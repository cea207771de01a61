"""How far SQL reaches: not to Java, not to files, not to variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.session.session import Session


def test_java_is_called_only_if_the_operator_allows_it(
    session: Session, spark: Any, tmp_path: Path
) -> None:
    call = "SELECT `reflect`('java.lang.Math', 'max', 1, 2)"
    with pytest.raises(acidsql.UnsupportedStatementError, match="calls Java"):
        session.execute(call)
    allowed = {"acidsql.allow.reflection": "true"}
    with acidsql.connect(str(tmp_path / "other"), spark=spark, config=allowed) as other:
        assert other.execute(call).fetchall() == [("2",)]


@pytest.mark.parametrize("kind", ["text", "csv", "json", "binaryFile", "parquet", "orc"])
def test_a_file_is_no_table(session: Session, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "secret"
    file.write_text("secret")
    for name in (f"{kind}.`{file}`", f"`{kind}`.`{file}`", f"`{kind}.{file}`"):
        with pytest.raises(acidsql.TableNotFoundError):
            session.execute(f"SELECT * FROM {name}")


@pytest.mark.parametrize(
    "call",
    ["xpath_string({xml}, 'a')", "from_xml({xml}, 'b string').b", "schema_of_xml({xml})"],
)
def test_xml_brings_in_no_file(session: Session, tmp_path: Path, call: str) -> None:
    file = tmp_path / "file"
    file.write_text("secret")
    xml = f'<!DOCTYPE a [<!ENTITY x SYSTEM "{file.as_uri()}">]><a><b>[&x;]</b></a>'
    query = f"SELECT {call.format(xml=chr(39) + xml + chr(39))}"
    assert "secret" not in str(session.execute(query).fetchall())


def test_a_parameter_may_hold_what_looks_like_a_variable(session: Session) -> None:
    session.execute(
        "CREATE TABLE t (v string) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    session.execute("INSERT INTO t VALUES (?), ('$'), ('$5 {x}')", ["${hivevar:d}"])
    session.execute("INSERT INTO t SELECT '${x}' -- ${hivevar:d}")
    found = sorted(v for (v,) in session.execute("SELECT v FROM t").fetchall())
    assert found == ["$", "$5 {x}", "${hivevar:d}", "${x}"]
