"""acidsql/magic.py, in a real IPython shell"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import RichOutput, capture_output
from pyspark.sql import Row
from traitlets.config import Config

import acidsql
from acidsql import magic
from acidsql.errors import MissingFileError, TableNotFoundError
from acidsql.magic import ROWS_SHOWN, parameter_names, parse_request
from acidsql.model.progress import UNWATCHED, Relay
from tests.unit.fakes import FakeResult, FakeSession


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.warn_venv = False  # another one may be active
    shell = InteractiveShell.instance(config=config)
    shell.extension_manager.load_extension("acidsql")
    yield shell
    InteractiveShell.clear_instance()
    # Each shell would look for garbage in the whole process when the tests end.
    atexit.unregister(shell.atexit_operations)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> FakeSession:
    """The default session."""
    session = FakeSession()
    monkeypatch.setattr(acidsql, "_default", session)
    return session


@pytest.fixture
def connections(
    monkeypatch: pytest.MonkeyPatch,
) -> list[tuple[str, str | None, FakeSession, bool]]:
    """The sessions connected to, in place of acidsql/connect.py."""
    made = []

    def connect(
        warehouse: str,
        *,
        metastore: str | None,
        must_exist: bool,
        config: Mapping[str, str],
        **_: object,
    ) -> FakeSession:
        assert config == {"acidsql.allow.environment": "true"}  # people run their own scripts
        made.append((warehouse, metastore, FakeSession({"a": FakeResult()}), must_exist))
        return made[-1][2]

    module = ModuleType("acidsql.connect")
    module.connect = connect
    monkeypatch.setitem(sys.modules, "acidsql.connect", module)
    return made


def run(shell: InteractiveShell, cell: str) -> list[RichOutput]:
    with capture_output() as captured:
        shell.run_cell(cell).raise_error()
    return captured.outputs


@pytest.fixture
def kernel(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A shell that shows what it runs in a notebook; nothing is too short to be shown."""
    monkeypatch.setattr(magic, "PATIENCE_S", 0)
    monkeypatch.setattr(magic, "REFRESH_S", 0.01)
    shell.kernel = object()
    magic.load(shell)
    yield shell
    Relay.else_watched_by(UNWATCHED)


def html(output: RichOutput) -> str:
    return output.data["text/html"]


def test_a_cell_shows_each_result(shell, session):
    session.answers = {
        "insert": FakeResult(rows_inserted=1, txn_id=1, write_ids={"default.t": 1}),
        "a": FakeResult(["row__id", "n"], [(Row(writeid=1, bucketid=536870912, rowid=0), None)]),
    }
    inserted, rows = run(shell, "%%acidsql\ninsert;\na")
    assert html(inserted) == "<p>1 row inserted (txn 1, write id 1)</p>"
    assert html(rows) == (
        "<table><thead><tr><th>row__id</th><th>n</th></tr></thead><tbody><tr>"
        "<td>{&quot;writeid&quot;:1,&quot;bucketid&quot;:536870912,&quot;rowid&quot;:0}</td>"
        "<td><i>NULL</i></td></tr></tbody></table>"
    )
    assert rows.data["text/plain"] == (
        'row__id | n\n{"writeid":1,"bucketid":536870912,"rowid":0} | NULL'
    )
    assert session.executed == [("insert", None, 1, 1), ("a", None, 2, 1)]
    assert session.scripted == [True, True]  # variables are replaced, as in all scripts


def test_everything_is_escaped(shell, session):
    bad = "<script>alert('&')</script>"
    session.answers = {"a": FakeResult([bad], [(bad,), ([bad],)]), "b": FakeResult(message=bad)}
    for output in run(shell, "%%acidsql\na; b"):
        assert "<script" not in html(output)
        assert "&lt;script&gt;" in html(output)


def test_only_the_first_rows_are_shown(shell, session):
    session.answers = {
        "exact": FakeResult(["n"], [(n,) for n in range(ROWS_SHOWN)]),
        "more": FakeResult(["n"], [(n,) for n in range(ROWS_SHOWN + 1)]),
    }
    exact, more = run(shell, "%%acidsql\nexact; more")
    assert html(exact).count("<td>") == html(more).count("<td>") == ROWS_SHOWN
    assert "Only the first" not in html(exact)
    assert html(more).endswith(f"<p>Only the first {ROWS_SHOWN} rows are shown.</p>")
    assert more.data["text/plain"].endswith(f"Only the first {ROWS_SHOWN} rows are shown.")


def test_a_line(shell, session):
    session.answers = {"a": FakeResult(message="done")}
    assert [html(output) for output in run(shell, "%acidsql a")] == ["<p>done</p>"]


class Seen:
    """Tasks of a phase, which know how often the line that shows them was written."""

    def __init__(self) -> None:
        self._writings = 0
        self._written = threading.Condition()

    def tasks(self) -> tuple[int, int]:
        with self._written:
            self._writings += 1
            self._written.notify_all()
        return 0, 0

    def wait_for(self, writings: int) -> None:
        with self._written:
            assert self._written.wait_for(lambda: self._writings >= writings, 30)


def test_plain_cells_show_what_sessions_are_at(kernel):
    """Each in its own output."""
    shown = set()
    for _ in range(2):
        kernel.user_ns.update(relay=Relay(), seen=[Seen(), Seen()])
        cell = "for s in seen:\n    with relay.during('reading', s.tasks):\n        s.wait_for(2)"
        first, *changes = run(kernel, cell)
        assert first.data["text/plain"] == "reading: 0 s"
        assert not first.update
        assert all(change.update for change in changes)
        assert changes[-1].data == {"text/plain": "", "text/html": ""}
        [display_id] = {output.transient["display_id"] for output in (first, *changes)}
        shown.add(display_id)
    assert len(shown) == 2


def test_no_other_shell_shows_it(shell, monkeypatch):
    monkeypatch.setattr(magic, "PATIENCE_S", 0)
    magic.load(shell)
    shell.user_ns["relay"] = Relay()
    assert run(shell, "import time\nwith relay.during('reading'):\n    time.sleep(0.1)") == []


def test_the_last_result_goes_into_a_variable_unread(shell, session):
    session.answers = {"a": FakeResult(message="done"), "b": FakeResult(["n"], [(1,), (2,)])}
    assert [html(output) for output in run(shell, "%%acidsql rows <<\na; b")] == ["<p>done</p>"]
    assert shell.user_ns["rows"].fetchall() == [(1,), (2,)]
    run(shell, "%acidsql again << b")
    assert shell.user_ns["again"].fetchall() == [(1,), (2,)]


def test_parameters_come_from_the_notebook_when_they_appear(shell, session):
    shell.user_ns.update(wanted=7, other=8)
    session.answers = {"a :wanted :unknown": FakeResult(), "b ':other'": FakeResult()}
    run(shell, "%%acidsql\na :wanted :unknown; b ':other'")
    assert [args for _, args, _, _ in session.executed] == [{"wanted": 7}, None]


@pytest.mark.parametrize("text", ["{name}", "$name", "{{x}}", "$$x", '{"a": 1}', "${name}"])
def test_the_text_of_sql_is_what_was_written(shell, session, text: str):
    shell.user_ns.update(name="other", x=1, a=2)
    shell.run_cell(f"%acidsql SELECT '{text}'")
    shell.run_cell(f"%%acidsql\nSELECT '{text}'")
    assert [found[0] for found in session.executed] == [f"SELECT '{text}'"] * 2


def test_options_take_variables_of_the_notebook(shell, session, connections):
    shell.user_ns.update(place="/data/w", store="s")
    shell.run_cell("%acidsql --connect $place --metastore {store}: SELECT '$place'")
    [(warehouse, metastore, connected, _)] = connections
    assert (warehouse, metastore) == ("/data/w", "s:")
    assert [found[0] for found in connected.executed] == ["SELECT '$place'"]


def test_an_error_is_told_without_traceback(shell, session):
    session.answers = {"a": FakeResult()}
    with capture_output() as captured:
        done = shell.run_cell("%%acidsql\na;\n nonsense; a")
    assert isinstance(done.error_in_exec, TableNotFoundError)
    assert captured.stdout == (
        "TableNotFoundError: 2:2: no answer to nonsense\nHint: Prepare one.\n"
    )
    assert [sql for sql, *_ in session.executed] == ["a", "nonsense"]


def test_what_ran_before_an_error_is_shown(shell, session):
    session.answers = {"a": FakeResult(message="done")}
    with capture_output() as captured:
        shell.run_cell("%%acidsql kept <<\na; nonsense")
    assert [html(output) for output in captured.outputs] == ["<p>done</p>"]
    assert "kept" not in shell.user_ns


def test_connect(shell, session, connections):
    run(shell, "%acidsql --connect /data/w --metastore 'sqlite:///a b.db'")
    run(shell, "%%acidsql\na")
    run(shell, "%acidsql --connect=other a")
    [(first, url, old, _), (second, default_url, new, _)] = connections
    assert (first, url, second, default_url) == ("/data/w", "sqlite:///a b.db", "other", None)
    assert (old.closed, new.closed) == (True, False)
    assert len(old.executed) == len(new.executed) == 1
    assert session.executed == []


def test_a_session_that_fails_to_close_is_left(shell, session, connections, monkeypatch):
    def fail() -> None:
        raise TableNotFoundError("the store is gone")

    run(shell, "%acidsql --connect /data/w")
    [(_, _, old, _)] = connections
    monkeypatch.setattr(old, "close", fail)
    shell.run_cell("%acidsql --connect other")
    run(shell, "%acidsql a")
    (_, _, new, _) = connections[1]
    assert len(new.executed) == 1


def test_connect_to_what_must_exist(shell, session, connections, capsys):
    shell.run_cell("%acidsql --connect /data/w --must-exist a").raise_error()
    shell.run_cell("%acidsql --must-exist --connect w").raise_error()
    assert [made[0] for made in connections] == ["/data/w", "w"]
    assert [made[3] for made in connections] == [True, True]
    assert "new store" not in capsys.readouterr().out


def test_a_new_warehouse_is_announced(shell, tmp_path, monkeypatch, capsys):
    for told in ("Made a new store for the warehouse ", ""):
        shell.run_cell(f"%acidsql --connect {tmp_path}/w").raise_error()
        assert capsys.readouterr().out == (told and f"{told}{tmp_path}/w.\n")


def test_a_warehouse_that_is_not_there(shell, tmp_path):
    with pytest.raises(MissingFileError):
        shell.run_cell(f"%acidsql --connect {tmp_path}/w --must-exist").raise_error()
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%%acidsql SELECT 1\na", "unexpected text after %%acidsql: SELECT 1"),
        ("%acidsql --must-exist a", "--must-exist without --connect"),
        ("%acidsql --metastore memory:", "--metastore without --connect"),
    ],
)
def test_wrong_use(shell, session, cell: str, message: str):
    with capture_output() as captured:
        shell.run_cell(cell)
    assert captured.stdout.startswith(f"ConfigError: {message}\nHint: ")
    assert session.executed == []


def test_sql_may_begin_with_a_comment():
    assert parse_request("-- all of it").sql == "-- all of it"


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("a = :b AND c IN (:d, :e1_)", {"b", "d", "e1_"}),
        ("x::int, v:field, f():y, a[0]:z, `c`:w", set()),
        (r"""':a' ":b" `:c` 'it\':s' '' :d""", {"d"}),
        ("-- :a\n/* :b\n:c */ :d", {"d"}),
        (r"""r'\' || :a || R"\" || ':b' || for'\':c'""", {"a"}),
        (":1, : a, :größe", {"größe"}),
    ],
)
def test_parameter_names(sql: str, names: set[str]):
    assert parameter_names(sql) == names
