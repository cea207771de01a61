"""Each rule of `rules.RULES` is broken in a copy of the package, and its test notices."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.broken_rules.rules import RULES, BrokenRule

PROJECT = Path(__file__).parents[2]
DOCUMENT = PROJECT / "docs" / "testing.md"


def name(rule: BrokenRule) -> str:
    return rule.caught_by.rpartition("::test_")[2]


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_what_is_broken_is_there(rule: BrokenRule) -> None:
    assert (PROJECT / "acidsql" / rule.file).read_text().count(rule.old) == 1, rule.old
    file, _, test = rule.caught_by.partition("::")
    assert f"def {test}(" in (PROJECT / "tests" / file).read_text()


@pytest.mark.parametrize("rule", RULES, ids=name)
def test_the_document_names_it(rule: BrokenRule) -> None:
    file, _, test = rule.caught_by.partition("::")
    entry = (
        f"- **{rule.rule}** The broken version {rule.broken}. "
        f"File: `{rule.file}`. Test: `{file}`, `{test}`."
    )
    assert entry in " ".join(DOCUMENT.read_text().split())


@pytest.mark.thorough
def test_they_pass_where_nothing_is_broken(tmp_path: Path) -> None:
    copy(tmp_path)
    done = run(tmp_path, *sorted({rule.caught_by for rule in RULES}))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("rule", RULES, ids=name)
def test_what_is_broken_is_noticed(rule: BrokenRule, tmp_path: Path) -> None:
    copy(tmp_path)
    file = tmp_path / "acidsql" / rule.file
    file.write_text(file.read_text().replace(rule.old, rule.new))
    done = run(tmp_path, rule.caught_by)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"FAILED tests/{rule.caught_by}" in done.stdout


def copy(root: Path) -> None:
    """A project with a package of its own, and the tests of this one."""
    shutil.copytree(
        PROJECT / "acidsql", root / "acidsql", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(PROJECT / "pyproject.toml", root)
    (root / "tests").symlink_to(PROJECT / "tests")


def run(root: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    """What pytest says of the tests; the package beside them comes before an installed one."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    ids = [f"tests/{test}" for test in tests]
    options = ["-q", "--tb=short", "--hypothesis-profile=thorough", "-m", "not postgres"]
    command = [sys.executable, "-m", "pytest", *options, *ids]
    return subprocess.run(
        command, cwd=root, env=kept, capture_output=True, text=True, check=False, timeout=600
    )
