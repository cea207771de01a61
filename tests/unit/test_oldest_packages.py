"""The oldest packages that pyproject.toml allows are those of `make thorough-oldest`."""

from __future__ import annotations

import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def test_the_oldest_packages_are_the_oldest_that_are_allowed() -> None:
    """All but PySpark, whose newest version is used, and what only tests need."""
    text = (PROJECT / "constraints-oldest.txt").read_text()
    oldest = dict(re.findall(r"^([\w-]+)==([\d.]+)$", text, re.MULTILINE))
    project = (PROJECT / "pyproject.toml").read_text()
    lists = project[project.index("\ndependencies = [") : project.index("\ntest = [")]
    allowed = dict(re.findall(r'"([\w-]+)(?:\[\w+\])?>=([\d.]+)', lists))
    assert allowed.pop("pyspark") == "4.0"
    assert allowed.keys() >= {"click", "pyarrow", "sqlglot", "thriftpy2", "psycopg"}
    for package, lowest in allowed.items():
        found = oldest[package.replace("typing-", "typing_")].split(".")
        numbers = lowest.split(".")
        assert found[: len(numbers)] == numbers, package
        assert not any(int(number) for number in found[len(numbers) :]), package
