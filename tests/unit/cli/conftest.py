"""The command line on a fake session."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from acidsql.cli.main import main
from tests.unit.fakes import FakeSession

Acidsql = Callable[..., Result]


class FakeConnect(ModuleType):
    """Stands for acidsql/connect.py: hands out one session, or fails with ``error``."""

    def __init__(self) -> None:
        super().__init__("acidsql.connect")
        self.session = FakeSession()
        self.error: Exception | None = None
        self.calls: list[tuple[str, dict]] = []

    def connect(self, warehouse: str, **options: object) -> FakeSession:
        self.calls.append((warehouse, options))
        if self.error is not None:
            raise self.error
        return self.session


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> FakeConnect:
    fake = FakeConnect()
    monkeypatch.setitem(sys.modules, "acidsql.connect", fake)
    monkeypatch.delenv("ACIDSQL_WAREHOUSE", raising=False)
    monkeypatch.delenv("ACIDSQL_METASTORE", raising=False)
    return fake


@pytest.fixture
def acidsql() -> Acidsql:
    """Runs the command with arguments."""

    def run(*args: str, **options: object) -> Result:
        return CliRunner().invoke(main, args, prog_name="acidsql", **options)

    return run


@pytest.fixture
def dumps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for acidsql/orc/dump.py: a file's lines are its rows; "corrupt" is an error."""
    from acidsql.errors import CorruptFileError

    def dump(source, path):
        for line in source.read().decode().splitlines():
            if line == "corrupt":
                raise CorruptFileError(f"not an ORC file: {path}", hint="Restore it.")
            yield line

    module = ModuleType("acidsql.orc.dump")
    module.dump = dump
    monkeypatch.setitem(sys.modules, "acidsql.orc.dump", module)
