"""acidsql/cli/run.py and acidsql/cli/main.py"""

from __future__ import annotations

import errno
import os
import pty
import shutil
import subprocess
import sys

import pytest

from acidsql.cli.main import main
from acidsql.errors import (
    ConfigError,
    DependencyError,
    SqlSyntaxError,
    StorageError,
    WriteConflictError,
)
from tests.unit.fakes import FakeResult, FakeSession

ENVIRONMENT = {"acidsql.allow.environment": "true"}


@pytest.fixture
def session(connection):
    connection.session.answers = {
        name: FakeResult(["n"], [(name,)]) for name in ("a", "b", "c", "d")
    } | {"insert": FakeResult(rows_inserted=1, txn_id=1, write_ids={"default.t": 1})}
    return connection.session


def executed(session) -> list[str]:
    return [sql for sql, *_ in session.executed]


def test_files_and_inline_sql_run_in_the_order_given(acidsql, session, tmp_path):
    file = tmp_path / "b.sql"
    file.write_text("b;")
    done = acidsql("run", "-e", "a", str(file), "--execute=c", "-", "-ea", input="d")
    assert done.exit_code == 0, done.output
    assert executed(session) == ["a", "b", "c", "d", "a"]
    assert session.closed


def test_defaults_of_the_connection(acidsql, connection, session):
    acidsql("run", "-e", "a")
    assert connection.calls == [
        ("./warehouse", {"metastore": None, "config": ENVIRONMENT, "must_exist": False})
    ]


def test_the_connection_comes_from_the_environment(acidsql, connection, session):
    env = {"ACIDSQL_WAREHOUSE": "/w", "ACIDSQL_METASTORE": "memory:"}
    acidsql("run", "-e", "a", env=env)
    acidsql("run", "-e", "a", "--warehouse", "/x", env=env)
    assert [(w, o["metastore"]) for w, o in connection.calls] == [
        ("/w", "memory:"),
        ("/x", "memory:"),
    ]


def test_config(acidsql, connection, session):
    acidsql("run", "-e", "a", "-D", "hive.txn.timeout=5s", "--config", "x=a=b")
    assert connection.calls[0][1]["config"] == {
        **ENVIRONMENT,
        "hive.txn.timeout": "5s",
        "x": "a=b",
    }


def test_variables_and_properties_are_set_before_the_sql_runs(acidsql, session):
    done = acidsql(
        "run", "-e", "a", "--hivevar", "x=1;", "-d", "y=a=b", "--define", "z=", "--hiveconf", "k=v"
    )
    assert session.given == {
        "hiveconf:k": "v", "hivevar:x": "1;", "hivevar:y": "a=b", "hivevar:z": "",
    }  # fmt: skip
    assert session.scripted == [True]
    assert done.stderr == "acidsql: hiveconf:k is noted.\n"
    assert acidsql("run", "-q", "-e", "a", "--hiveconf", "k=v").stderr == ""


def test_a_property_that_cannot_be_set_ends_the_run(acidsql, session):
    done = acidsql("run", "-e", "a", "--hiveconf", "acidsql.x=1")
    assert (done.exit_code, session.executed) == (3, [])
    assert done.stderr == "acidsql: error: hiveconf:acidsql.x cannot be changed by SET\n"
    assert acidsql("run", "-e", "a", "--hivevar", "x").exit_code == 1


def test_machine_formats_keep_standard_output_for_rows(acidsql, session):
    done = acidsql("run", "-e", "insert; a", "--format", "jsonl")
    assert done.stdout == '{"n":"a"}\n'
    assert done.stderr == "1 row inserted (txn 1, write id 1)\n"
    assert acidsql("run", "-q", "-e", "insert; a", "--format", "jsonl").stderr == ""


def test_the_first_error_stops_the_run(acidsql, session, tmp_path):
    file = tmp_path / "bad.sql"
    file.write_text("a;\n\n  nonsense;\nb")
    done = acidsql("run", str(file), "-e", "c", "--format", "jsonl")
    assert done.exit_code == 3
    assert done.stdout == '{"n":"a"}\n'
    assert done.stderr == f"{file}:3:3: error: no answer to nonsense\nHint: Prepare one.\n"
    assert executed(session) == ["a", "nonsense"]
    assert session.closed


@pytest.mark.parametrize(
    ("args", "place"), [(["-e", "a", "-e", "a; x"], "<-e 2>:1:4"), (["-"], "<stdin>:1:1")]
)
def test_errors_name_their_source(acidsql, session, args: list[str], place: str):
    done = acidsql("run", *args, input="x")
    assert done.exit_code == 3
    assert done.stderr.splitlines()[-2] == f"{place}: error: no answer to x"


def test_text_that_cannot_be_split(acidsql, session):
    done = acidsql("run", "-e", "a;\n 'unclosed")
    assert done.exit_code == 3
    assert done.stderr.startswith("<-e 1>:2:2: error: ")
    assert executed(session) == ["a"]


def test_an_error_without_a_place_has_that_of_its_statement(acidsql, session):
    def conflict() -> FakeResult:
        raise WriteConflictError("lost", detail="Transaction 3 committed first.")

    session.answers = {"b": FakeResult(), "a": conflict}
    done = acidsql("run", "-e", "b;\n a")
    assert done.exit_code == 3
    assert done.stderr == (
        "<-e 1>:2:2: error: lost\nTransaction 3 committed first.\nHint: Run the statement again.\n"
    )


def test_hives_error_code_is_shown(acidsql, session):
    def refused() -> FakeResult:
        raise SqlSyntaxError("no", code=10302, line=1, column=4)

    session.answers = {"a": refused}
    assert acidsql("run", "-e", "a").stderr == "<-e 1>:1:4: error: no [Hive error 10302]\n"


@pytest.mark.parametrize(
    "error", [ConfigError("bad URL"), DependencyError("no Java"), StorageError("read only")]
)
def test_no_connection_is_status_2(acidsql, connection, error: Exception):
    connection.error = error
    done = acidsql("run", "-e", "a")
    assert (done.exit_code, done.stderr) == (2, f"acidsql: error: {error}\n")


def test_spark_that_cannot_start_later_is_status_2(acidsql, session):
    def no_java() -> FakeResult:
        raise DependencyError("Java is missing", hint="Install Java 17.")

    session.answers = {"a": no_java}
    done = acidsql("run", "-e", "a")
    assert done.exit_code == 2
    assert done.stderr == "<-e 1>:1:1: error: Java is missing\nHint: Install Java 17.\n"


def test_an_interrupt_closes_the_session(acidsql, session):
    def interrupted() -> FakeResult:
        raise KeyboardInterrupt

    session.answers = {"a": interrupted}
    done = acidsql("run", "-e", "a; b")
    assert done.exit_code == 130
    assert done.stderr.splitlines()[-1] == "interrupted"
    assert session.closed


def test_a_session_that_fails_to_close(acidsql, connection):
    class Unclosable(FakeSession):
        def close(self) -> None:
            raise StorageError("disk full")

    connection.session = Unclosable({"a": FakeResult()})
    done = acidsql("run", "-e", "a")
    assert (done.exit_code, done.stderr) == (1, "acidsql: error: disk full\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["missing.sql"], "Cannot read missing.sql: No such file or directory."),
        (["-e"], "requires an argument"),
        (["-e", "a", "--format", "xml"], "'xml' is not one of"),
        (["-e", "a", "-D", "novalue"], "Not KEY=VALUE: 'novalue'."),
        (["-e", "a", "--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage_is_status_1_and_runs_nothing(
    acidsql, connection, session, args: list[str], message: str
):
    done = acidsql("run", *args)
    assert done.exit_code == 1
    assert message in done.stderr
    assert session.executed == []
    assert connection.calls == []


def test_a_file_that_is_not_utf_8(acidsql, connection, tmp_path):
    file = tmp_path / "latin.sql"
    file.write_bytes(b"SELECT '\xe9'")
    done = acidsql("run", str(file))
    assert done.exit_code == 1
    assert "is not UTF-8: byte 8 is wrong" in done.stderr


def test_a_byte_order_mark_is_no_text(acidsql, session, tmp_path):
    file = tmp_path / "bom.sql"
    file.write_bytes(b"\xef\xbb\xbfa")
    assert acidsql("run", str(file)).exit_code == 0


EVENT = (
    '{"operation":2,"originalTransaction":1,"bucket":536936449,"rowId":7,'
    '"currentTransaction":2,"row":null}\n'
)


@pytest.mark.usefixtures("dumps")
def test_show_layout(acidsql, session, tmp_path):
    delta = tmp_path / "sales.db" / "t" / "d=1" / "delta_0000001_0000001_0000"

    def insert() -> FakeResult:
        delta.mkdir(parents=True)
        (delta / "bucket_00000").write_text('{"row":1}\n{"row":2}\n')
        (delta / "_orc_acid_version").write_text("2")
        (delta / ".bucket_00000.crc").write_text("")
        return FakeResult(rows_inserted=2, txn_id=1, write_ids={"sales.t": 1})

    def delete() -> FakeResult:
        deleted = delta.parent / "delete_delta_0000002_0000002_0000"
        deleted.mkdir()
        (deleted / "bucket_00001").write_text(EVENT)
        return FakeResult(rows_deleted=1, txn_id=2, write_ids={"sales.t": 2})

    def compact() -> FakeResult:
        shutil.rmtree(delta)
        return FakeResult()

    def drop() -> FakeResult:
        shutil.rmtree(tmp_path / "sales.db" / "t")
        return FakeResult()

    session.answers = {
        "-- It adds\n--  two.\n\ninsert\n  all -- of them": insert,
        "delete": delete,
        "compact": compact,
        "a": FakeResult(["n"], [(1,)]),
        "drop": drop,
    }
    script = "-- It adds\n--  two.\n\ninsert\n  all -- of them\n; delete; compact; a; drop"
    done = acidsql("run", "--show-layout", "--warehouse", str(tmp_path), "-e", script)
    assert done.exit_code == 0, done.output
    assert done.stdout == (
        "It adds\n"
        " two.\n"
        "\n"
        "> insert\n"
        ">   all -- of them\n"
        "2 rows inserted (txn 1, write id 1)\n"
        "sales.db/t/ is new\n"
        "+ d=1/delta_0000001_0000001_0000/\n"
        "    bucket_00000\n"
        "      +-----+\n"
        "      | row |\n"
        "      +-----+\n"
        "      |   1 |\n"
        "      |   2 |\n"
        "      +-----+\n"
        "\n"
        "> delete\n"
        "1 row deleted (txn 2, write id 2)\n"
        "sales.db/t/\n"
        "+ d=1/delete_delta_0000002_0000002_0000/\n"
        "    bucket_00001\n"
        "      +--------+----------+--------+-----------+-----+\n"
        "      | event  | write id | bucket | statement | row |\n"
        "      +--------+----------+--------+-----------+-----+\n"
        "      | delete |        1 |      1 |         1 |   7 |\n"
        "      +--------+----------+--------+-----------+-----+\n"
        "  1 directory as before\n"
        "\n"
        "> compact\n"
        "OK\n"
        "sales.db/t/\n"
        "- d=1/delta_0000001_0000001_0000/\n"
        "  1 directory as before\n"
        "\n"
        "> a\n"
        "+---+\n"
        "| n |\n"
        "+---+\n"
        "| 1 |\n"
        "+---+\n"
        "(1 row)\n"
        "\n"
        "> drop\n"
        "OK\n"
        "sales.db/t/ is gone\n"
        "\n"
    )


@pytest.mark.usefixtures("dumps")
def test_show_layout_shows_the_first_rows_of_a_long_file(acidsql, session, tmp_path):
    table = tmp_path / "t"

    def insert() -> FakeResult:
        table.mkdir()
        (table / "000000_0").write_text("".join(f'{{"n":{n}}}\n' for n in range(23)))
        (table / "000000_0_copy_1").write_text("")
        return FakeResult()

    session.answers = {"insert": insert}
    done = acidsql("run", "--show-layout", "--warehouse", str(tmp_path), "-e", "insert")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert "      | 19 |" in lines
    assert "      | 20 |" not in lines
    assert lines[-4:] == [
        f"      3 rows more: acidsql dump {table / '000000_0'}",
        "    000000_0_copy_1",
        "      (no rows)",
        "",
    ]


@pytest.mark.usefixtures("dumps")
def test_show_layout_goes_on_after_a_file_that_is_no_orc(acidsql, session, tmp_path):
    def insert() -> FakeResult:
        (tmp_path / "t").mkdir()
        (tmp_path / "t" / "000000_0").write_text("corrupt")
        return FakeResult()

    session.answers = {"insert": insert, "next": FakeResult()}
    done = acidsql("run", "--show-layout", "--warehouse", str(tmp_path), "-e", "insert; next")
    assert done.exit_code == 0, done.output
    assert "    000000_0\n      (its rows cannot be shown: it is no ORC file)\n" in done.stdout
    assert executed(session) == ["insert", "next"]


def test_show_layout_needs_local_files(acidsql, session):
    done = acidsql("run", "--show-layout", "--warehouse", "s3://b/w", "-e", "a")
    assert done.exit_code == 2
    assert "cannot list the warehouse s3://b/w" in done.stderr
    assert session.executed == []


def test_version_and_help(acidsql):
    assert acidsql("--version").stdout == "acidsql 0.1.0\n"
    assert "run" in acidsql("--help").stdout
    assert "[FILE|-]..." in acidsql("run", "-h").stdout
    assert acidsql("nonsense").exit_code == 1


def test_a_single_transaction_is_committed_at_the_end(acidsql, session):
    done = acidsql("run", "--single-transaction", "-e", "a", "-e", "b")
    assert done.exit_code == 0, done.output
    assert executed(session) == ["BEGIN", "a", "b", "COMMIT"]


def test_a_single_transaction_is_not_committed_after_an_error(acidsql, session):
    done = acidsql("run", "-1", "-e", "a; unknown; c")
    assert done.exit_code == 3
    assert executed(session) == ["BEGIN", "a", "unknown"]
    assert session.closed


def test_a_script_must_end_its_own_transaction(acidsql, session):
    done = acidsql("run", "-e", "BEGIN; a")
    assert done.exit_code == 3
    assert "the script ended inside a transaction, which is rolled back" in done.stderr
    assert executed(session) == ["BEGIN", "a"]


def test_a_new_warehouse_is_announced_where_it_disturbs_nobody(acidsql, connection, session):
    session.new_warehouse = "/typing/eror"
    done = acidsql("run", "--format", "csv", "-e", "a")
    assert done.stdout == "n\na\n"
    assert done.stderr.splitlines()[0] == "acidsql: made a new store for the warehouse /typing/eror"


def test_must_exist_is_handed_on(acidsql, connection, session):
    acidsql("run", "--must-exist", "-e", "a")
    acidsql("service", "--once", "--must-exist")
    assert [options["must_exist"] for _, options in connection.calls] == [True, True]


@pytest.mark.parametrize("metastore", [None, "sqlite://{}/gone/store.db"])
def test_a_warehouse_that_is_not_there(acidsql, tmp_path, metastore, monkeypatch):
    monkeypatch.delenv("ACIDSQL_METASTORE", raising=False)
    options = () if metastore is None else ("--metastore", metastore.format(tmp_path))
    done = acidsql(
        "run", "--must-exist", "--warehouse", str(tmp_path / "w"), *options, "-e", "SHOW TABLES"
    )
    assert done.exit_code == 2
    assert "there is no transaction store" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_warehouse_is_announced_once(acidsql, tmp_path, monkeypatch):
    monkeypatch.delenv("ACIDSQL_METASTORE", raising=False)
    told = f"acidsql: made a new store for the warehouse {tmp_path}/w\n"
    for expected in (told, ""):
        done = acidsql("run", "-q", "--warehouse", str(tmp_path / "w"), "-e", "SHOW TABLES")
        assert (done.exit_code, done.stderr) == (0, expected)


def test_a_store_in_memory_cannot_be_there(acidsql, tmp_path):
    done = acidsql("run", "--must-exist", "--metastore", "memory:", "-e", "SHOW TABLES")
    assert done.exit_code == 2
    assert "always new" in done.stderr


def test_what_is_piped_in_needs_no_dash(acidsql, session):
    session.answers = {"a": FakeResult(message="done")}
    done = acidsql("run", input="a;")
    assert (done.exit_code, done.stdout) == (0, "done\n")
    session.executed.clear()
    assert acidsql("run", "-e", "a", input="b").exit_code == 0
    assert [sql for sql, *_ in session.executed] == ["a"], "the pipe is not read unless asked for"


def test_nothing_to_run_at_a_terminal_is_wrong_usage(tmp_path):
    end, own = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "acidsql", "run"],
        stdin=own, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False,
    )  # fmt: skip
    os.close(own)
    os.close(end)
    assert done.returncode == 1
    assert "Nothing to run" in done.stderr
    assert not list(tmp_path.iterdir())


def in_shell(command: str, tmp_path, **variables: str):
    """A command of a shell in which ``acidsql`` is the command."""
    return subprocess.run(
        ["sh", "-c", command.replace("acidsql", f"{sys.executable} -m acidsql")],
        capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False,
        env={**os.environ, **variables},
    )  # fmt: skip


TABLE = "CREATE TABLE t (id int COMMENT 'größe'); DESCRIBE t; CREATE TABLE u (id int)"


@pytest.mark.parametrize("format", ["table", "csv"])
def test_what_the_encoding_of_standard_output_lacks(tmp_path, format):
    done = in_shell(
        f'acidsql run --format {format} -e "{TABLE}"', tmp_path, PYTHONIOENCODING="ascii"
    )
    assert done.returncode == 3
    assert done.stderr.endswith(
        "acidsql: error: standard output cannot be written\n"
        "Its encoding ascii has no character '\\xf6'.\n"
        "Hint: Set PYTHONIOENCODING=utf-8.\n"
    )


def test_standard_output_that_is_full(tmp_path):
    done = in_shell(f'acidsql run -e "{TABLE}" > /dev/full', tmp_path)
    assert done.returncode == 3
    assert "error: standard output cannot be written\nNo space left on device." in done.stderr
    assert "Traceback" not in done.stderr


def test_streams_that_are_closed(tmp_path):
    assert in_shell(f'acidsql run -e "{TABLE}" >&- 2>&-', tmp_path).returncode == 0
    done = in_shell("acidsql run - <&-", tmp_path)
    assert (done.returncode, "Standard input is closed." in done.stderr) == (1, True)
    done = in_shell("acidsql run -e 'SHOW TABLES' --format csv", tmp_path)
    assert done.stdout == "tab_name\nt\nu\n"


def test_nobody_watches_where_standard_error_is_no_terminal(acidsql, session):
    session.answers = {"a": FakeResult(message="done")}
    assert acidsql("run", "-e", "a").stderr == ""
    assert session.watcher is None


def test_a_lost_connection_is_no_fault_of_standard_output(monkeypatch):
    def lost(*_: object, **__: object) -> None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")

    monkeypatch.setattr("acidsql.cli.run.connected", lost)
    with pytest.raises(ConnectionRefusedError):
        main(["run", "-e", "SHOW TABLES"])
