"""How errors are shown."""

from __future__ import annotations

import pytest

from acidsql.errors import AnalysisError


def test_fact_detail_and_hint() -> None:
    error = AnalysisError("no t", detail="It is\ngone.", hint="Look.", code=10001, line=1, column=7)
    assert str(error) == "1:7: no t [Hive error 10001]\nIt is\ngone.\nHint: Look."


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\0b", "a\\x00b"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("a\nHint: run this", "a\\nHint: run this"),
        ("\u202etxt", "\\u202etxt"),
        ("Größe 表", "Größe 表"),
    ],
)
def test_a_name_cannot_command_the_terminal(name: str, shown: str) -> None:
    error = AnalysisError(f"no {name}", hint=f"not {name}".replace("\n", " "))
    assert str(error).splitlines()[0] == f"no {shown}"
    assert error.message == f"no {name}"
