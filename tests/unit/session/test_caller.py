"""What a caller may give by mistake is an error of ours, whatever it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import acidsql
from acidsql.errors import AcidSqlError, AnalysisError, ConfigError
from acidsql.session.session import Session


class Hostile:
    """Cannot be looked at."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


ODD: dict[str, Any] = {
    "None": None, "bytes": b"t", "int": 5, "float": 1.5, "list": ["t"], "dict": {"t": 1},
    "set": {"t"}, "generator": (x for x in "t"), "object": object(), "hostile": Hostile(),
    "surrogate": "\ud800", "class": str, "NUL": "a\0b",
}  # fmt: skip


@pytest.fixture
def session(tmp_path) -> Iterator[Session]:
    with acidsql.connect(tmp_path / "w", metastore="memory:") as session:
        session.execute("CREATE TABLE t (k int, v string) TBLPROPERTIES ('transactional' = 'true')")
        yield session


@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
def test_a_statement_or_a_name_that_is_none(session, odd):
    for use in (
        session.execute,
        lambda sql: list(session.execute_script(sql)),
        session.table,
        lambda name: session.register(name, object()),
        lambda frame: session.register("f", frame),
    ):
        with pytest.raises(AcidSqlError):
            use(odd)


@pytest.mark.parametrize("odd", [None, "1", 1.0, True, -1, [1], Hostile()], ids=type)
def test_numbers_that_are_none(session, odd):
    for option in ("retries", "line", "column"):
        with pytest.raises(ConfigError, match=f"{option} must be a whole number"):
            session.execute("SHOW TABLES", **{option: odd})


INSERT = "INSERT INTO t VALUES (?, 'a')"


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        ((n for n in [1]), "args must be a list or a dict, not a value of type generator"),
        ({1}, "args must be a list or a dict, not a value of type set"),
        ({1: 1}, "a name in args must be a string, not a value of type int"),
        ({None: 1}, "a name in args must be a string, not None"),
        ({b"a": 1}, "a name in args must be a string, not a value of type bytes"),
        (5, "args must be a list or a dict, not a value of type int"),
        (object(), "args must be a list or a dict, not a value of type object"),
        (Hostile(), "args must be a list or a dict, not a value of type Hostile"),
        ("1", "args must be a list or a dict, not a string"),
        (b"1", "args must be a list or a dict, not a string"),
    ],
)
def test_args_of_odd_types(session, odd, why):
    with pytest.raises(AnalysisError, match=why):
        session.execute(INSERT, odd)


CONNECT: dict[str, dict[str, Any]] = {
    f"{option} {kind}": {option: odd}
    for option in ("warehouse", "metastore", "user", "config", "spark")
    for kind, odd in ODD.items()
    if not (option in ("metastore", "user", "config", "spark") and odd is None)
}


@pytest.mark.parametrize("options", CONNECT.values(), ids=list(CONNECT))
def test_connecting_with_odd_types(tmp_path, options):
    given: dict[str, Any] = {"warehouse": tmp_path / "w", "metastore": "memory:", **options}
    with pytest.raises(AcidSqlError):
        acidsql.connect(**given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [None, ["1s"], object(), {}], ids=type)
def test_a_property_of_an_odd_type(tmp_path, value):
    with pytest.raises(ConfigError, match=r'"hive\.txn\.timeout" of config must be a string'):
        acidsql.connect(tmp_path, config={"hive.txn.timeout": value})


def test_a_warehouse_without_a_name():
    with pytest.raises(ConfigError, match="empty"):
        acidsql.connect("")


@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
def test_the_default_session(tmp_path, monkeypatch, odd):
    monkeypatch.setenv("ACIDSQL_WAREHOUSE", str(tmp_path / "w"))
    monkeypatch.setattr(acidsql, "_default", None)
    with pytest.raises(AcidSqlError):
        acidsql.execute(odd)
    acidsql.default_session().close()
