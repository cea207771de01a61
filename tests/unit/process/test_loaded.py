"""acidsql/process/loaded.py, while another thread is importing a package."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from acidsql.engines.given_rows import given_rows
from acidsql.process.loaded import is_loaded_type, loaded
from acidsql.session.plain_value import plain_value


def test_a_package_that_is_just_being_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", ModuleType("pandas"))
    assert loaded("pandas", "NaT") is None
    assert not is_loaded_type(1, "pandas", "DataFrame")
    assert plain_value(1, "x") == 1
    assert given_rows({"a": [1]}).columns == ("a",)
