"""How errors are shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from acidsql.errors import AcidSqlError, AnalysisError


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


def classes(root: type[AcidSqlError] = AcidSqlError) -> Iterator[type[AcidSqlError]]:
    yield root
    for child in root.__subclasses__():
        if child.__module__ == "acidsql.errors":
            yield from classes(child)


def test_the_page_of_errors_has_each_class_with_its_state() -> None:
    page = (Path(__file__).parents[2] / "docs/errors.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .* \| (\w{5}) \|$", page, re.M)
    assert rows == [(c.__name__, c.sqlstate) for c in classes()]


def test_the_page_of_errors_has_each_number_of_hive() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs/errors.md").read_text()
    cells = re.findall(r"^\| `\w+` \| (.*) \| \w{5} \|$", page, re.M)
    shown: set[int] = set()
    for first, last in re.findall(r"(\d{5})(?: to (\d{5}))?", " ".join(cells)):
        shown.update(range(int(first), int(last or first) + 1))
    sources = [path.read_text() for path in (root / "acidsql").rglob("*.py")]
    used = {int(n) for text in sources for n in re.findall(r"\b(?:10|20)\d{3}\b", text)}
    # Examples have round numbers.
    assert shown == used - {10_000, 20_000}
