"""What the documents name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
DOCUMENTS = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")])
NAMED = re.compile(r"`([\w.*]+(?:/[\w.*]+)+\.(?:py|slt|spec|test|sql|thrift))\b")
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")


def is_there(path: str) -> bool:
    """Below the project, the package or the tests."""
    return any(list(PROJECT.glob(f"{home}{path}")) for home in ("", "acidsql/", "tests/"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(PROJECT)))
def test_files_that_are_named_exist(document: Path) -> None:
    text = document.read_text()
    assert sorted({path for path in NAMED.findall(text) if not is_there(path)}) == []
    links = [link for link in LINK.findall(text) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []
