"""A name is one directory below the one it belongs to, whatever it is, or it is refused."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import acidsql
from acidsql.errors import AcidSqlError, AnalysisError
from acidsql.session.session import Session

ACID = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"

HOSTILE = [
    "../precious",
    "..",
    ".",
    "/precious",
    "a/b",
    "a\\b",
    "%2e%2e",
    ".acidsql.db",
    ".hidden",
    "t.",
    " t",
    "t ",
    "a\0b",
    "a\nb",
    "\x7f",
    "ｔ",
    "t\u0435",
    "s.db",
    "x" * 129,
]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def everything(place: Path) -> set[str]:
    """Every path below a directory but the store's own."""
    paths = (str(p.relative_to(place)) for p in place.rglob("*"))
    return {p for p in paths if ".acidsql.db" not in p}


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file beside the warehouse, which no statement about names may touch."""
    file = tmp_path / "precious" / "file"
    file.parent.mkdir()
    file.write_text("dear")
    return file


@pytest.mark.parametrize("name", HOSTILE, ids=lambda n: ascii(n)[:12])
def test_no_hostile_name_makes_or_removes_anything(
    session: Session, tmp_path: Path, precious: Path, name: str
) -> None:
    session.execute(f"CREATE TABLE good (k int) {ACID}")
    before = everything(tmp_path)
    statements = [
        "CREATE TABLE {} (k int) STORED AS TEXTFILE",
        f"CREATE TABLE {{}} (k int) {ACID}",
        "CREATE TABLE IF NOT EXISTS {} (k int) STORED AS PARQUET",
        "CREATE TABLE {} LIKE good",
        "CREATE TABLE {} STORED AS ORC AS SELECT 1 AS k",
        "ALTER TABLE good RENAME TO {}",
        "CREATE DATABASE {}",
    ]
    for text in statements:
        with pytest.raises(AcidSqlError):
            session.execute(text.format(quoted(name)))
    for text in ("DROP TABLE {}", "DROP DATABASE {} CASCADE"):
        with pytest.raises(AcidSqlError):
            session.execute(text.format(quoted(name)))
    assert everything(tmp_path) == before
    assert precious.read_text() == "dear"
    assert session.execute("SHOW TABLES").fetchall() == [("good",)]


def test_the_error_says_where_and_why(session: Session) -> None:
    with pytest.raises(AnalysisError, match="characters other than letters, digits and _") as info:
        session.execute("CREATE TABLE `../precious` (k int)")
    assert (info.value.line, info.value.column) == (1, 14)


@pytest.mark.parametrize("name", ["order_lines", "_t", "1", "order lines", "a-b", "x" * 128])
def test_what_hive_takes_is_taken(session: Session, tmp_path: Path, name: str) -> None:
    session.execute(f"CREATE TABLE {quoted(name)} (k int) {ACID}")
    session.execute(f"INSERT INTO {quoted(name)} VALUES (1)")
    assert (tmp_path / "w" / name).is_dir()
    session.execute(f"DROP TABLE {quoted(name)}")
    assert everything(tmp_path / "w") == set()


def test_names_that_differ_in_case_are_one(session: Session) -> None:
    session.execute(f"CREATE TABLE T (k int) {ACID}")
    with pytest.raises(AnalysisError, match="already exists"):
        session.execute(f"CREATE TABLE t (k int) {ACID}")


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "x" * 768, ""], ids=lambda n: repr(n)[:9])
def test_columns_are_called_what_every_store_can_keep(session: Session, name: str) -> None:
    session.execute(f"CREATE TABLE t (k int) {ACID}")
    for text in (
        f"CREATE TABLE u ({quoted(name)} int) {ACID}",
        f"CREATE TABLE u (k int) PARTITIONED BY ({quoted(name)} int) {ACID}",
        f"ALTER TABLE t ADD COLUMNS ({quoted(name)} int)",
        f"ALTER TABLE t CHANGE COLUMN k {quoted(name)} int",
    ):
        with pytest.raises(AcidSqlError):
            session.execute(text)
    assert session.execute("SHOW TABLES").fetchall() == [("t",)]


@pytest.mark.parametrize("name", ["_p", ".p", "x" * 129])
def test_partition_columns_make_directories_that_readers_see(session: Session, name: str) -> None:
    with pytest.raises(AnalysisError, match="partition column name"):
        session.execute(f"CREATE TABLE t (k int) PARTITIONED BY ({quoted(name)} int) {ACID}")


VALUES = ["..", ".", "../..", "/", "a/../b", "a\\b", "%2F", "\0", "a\nb", "_x", ".x", "p=q", "~"]


@pytest.mark.parametrize("value", VALUES, ids=ascii)
def test_a_partition_value_is_one_directory(
    session: Session, tmp_path: Path, precious: Path, value: str
) -> None:
    session.execute(f"CREATE TABLE t (k int) PARTITIONED BY (p string) {ACID}")
    literal = value.replace("\\", "\\\\").replace("\0", "\\0")
    session.execute(f"ALTER TABLE t ADD PARTITION (p = '{literal}')")
    session.execute(f"INSERT INTO t PARTITION (p = '{literal}') VALUES (1)")
    session.execute("INSERT INTO t VALUES (2, :p)", {"p": value})  # found by the row's value
    (directory,) = list((tmp_path / "w" / "t").iterdir())
    assert directory.is_dir()
    session.execute(f"ALTER TABLE t PARTITION (p = '{literal}') RENAME TO PARTITION (p = 'b')")
    session.execute(f"ALTER TABLE t PARTITION (p = 'b') RENAME TO PARTITION (p = '{literal}')")
    assert [p.name for p in (tmp_path / "w" / "t").iterdir()] == [directory.name]
    session.execute("MSCK REPAIR TABLE t")
    assert len(session.execute("SHOW PARTITIONS t").fetchall()) == 1
    session.execute(f"ALTER TABLE t DROP PARTITION (p = '{literal}')")
    assert everything(tmp_path / "w" / "t") == set()
    assert precious.read_text() == "dear"


def test_a_partition_name_is_at_most_as_long_as_a_metastores(session: Session) -> None:
    columns = [f"p{number}" for number in range(4)]
    kinds = ", ".join(f"{c} string" for c in columns)
    session.execute(f"CREATE TABLE t (k int) PARTITIONED BY ({kinds}) {ACID}")
    long = "x" * 200
    values = ", ".join(f"{c} = '{long}'" for c in columns)
    for text in (
        f"ALTER TABLE t ADD PARTITION ({values})",
        f"INSERT INTO t VALUES (1, {', '.join([repr(long)] * 4)})",
        f"INSERT INTO t PARTITION ({values}) VALUES (1)",
    ):
        with pytest.raises(AnalysisError, match="no partition can be called"):
            session.execute(text)
    assert session.execute("SHOW PARTITIONS t").fetchall() == []


TEXTS = st.text(st.characters(exclude_categories=()), max_size=20) | st.sampled_from(HOSTILE)


@given(name=TEXTS, value=TEXTS)
def test_whatever_the_name_nothing_outside_its_directory_is_made_or_removed(
    name: str, value: str
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        outer = Path(directory)
        warehouse = outer / "w"
        (outer / "precious").mkdir()
        (warehouse / "good").mkdir(parents=True)
        with acidsql.connect(str(warehouse), metastore="memory:") as session:
            for text, args in [
                (f"CREATE TABLE {quoted(name)} (k int) PARTITIONED BY (p string) {ACID}", None),
                (f"INSERT INTO {quoted(name)} VALUES (1, :v)", {"v": value}),
                (f"ALTER TABLE {quoted(name)} ADD IF NOT EXISTS PARTITION (p = :v)", {"v": value}),
            ]:
                try:
                    session.execute(text, args)
                except AcidSqlError:
                    continue
                own = [p for p in warehouse.iterdir() if p.name != "good"]
                assert [p.name for p in own] == [name.lower()]
                assert all("=" in p.name for p in own[0].iterdir())
            for text in (f"DROP TABLE {quoted(name)}", f"DROP DATABASE {quoted(name)} CASCADE"):
                try:
                    session.execute(text)
                except AcidSqlError:
                    continue
            assert sorted(p.name for p in outer.iterdir()) == ["precious", "w"]
            assert [p.name for p in warehouse.iterdir()] == ["good"]
