"""acidsql/__init__.py"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import acidsql
from acidsql import errors
from tests.unit.fakes import FakeResult, FakeSession

NOT_ERRORS = {
    "Progress",
    "Result",
    "Session",
    "__version__",
    "connect",
    "default_session",
    "execute",
    "load_ipython_extension",
}


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict, FakeSession]]:
    """The sessions connected to, in place of acidsql/connect.py."""
    made = []

    def connect(warehouse: str, **options: object) -> FakeSession:
        made.append((warehouse, options, FakeSession({"SELECT 1": FakeResult(["a"], [(1,)])})))
        return made[-1][2]

    module = ModuleType("acidsql.connect")
    module.connect = connect
    monkeypatch.setitem(sys.modules, "acidsql.connect", module)
    monkeypatch.setattr(acidsql, "_default", None)
    return made


def test_every_error_is_public_and_nothing_else_is():
    tree = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert set(acidsql.__all__) == tree | NOT_ERRORS


def test_public_names_are_sorted_and_once_each():
    assert sorted(set(acidsql.__all__)) == acidsql.__all__


def test_the_version_is_that_of_the_project():
    project = Path(__file__).parents[2].joinpath("pyproject.toml").read_text()
    assert re.search(r'^version = "(.*)"$', project, re.MULTILINE)[1] == acidsql.__version__


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = acidsql.nonsense


@pytest.mark.parametrize("module", ["acidsql", "acidsql.cli.main"])
def test_importing_is_cheap(module: str):
    heavy = "{'pyspark', 'pyarrow', 'pandas', 'sqlglot', 'IPython', 'rich'}"
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_connect_stays_a_function_when_the_module_is_imported(connections):
    acidsql.connect = sys.modules["acidsql.connect"]  # what the import system does
    session = acidsql.connect(Path("w"), metastore="memory:")
    options = {"metastore": "memory:", "spark": None, "user": None, "config": None}
    assert connections == [("w", {**options, "must_exist": False}, session)]


def test_execute_uses_one_default_session(connections, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ACIDSQL_WAREHOUSE", "/data/w")
    monkeypatch.delenv("ACIDSQL_METASTORE", raising=False)
    assert acidsql.execute("SELECT 1").fetchall() == [(1,)]
    assert acidsql.execute("SELECT 1", {"a": 1}).fetchall() == [(1,)]
    [(warehouse, options, session)] = connections
    assert (warehouse, options["metastore"]) == ("/data/w", None)
    assert [args for _, args, _, _ in session.executed] == [None, {"a": 1}]


def test_the_default_warehouse_is_in_the_working_directory(
    connections, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("ACIDSQL_WAREHOUSE", raising=False)
    monkeypatch.setenv("ACIDSQL_METASTORE", "memory:")
    acidsql.default_session()
    assert connections[0][0] == "./warehouse"
    assert connections[0][1]["metastore"] == "memory:"
