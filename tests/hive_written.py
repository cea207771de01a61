"""The states that two Hives left behind, in tests/data, and the rows that they printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

STATES = Path(__file__).parent / "data" / "hive-written" / "states"

HASHES = ("h1", "h2")
"""Columns that only the query of the expected rows has."""

_DEFAULT = "__HIVE_DEFAULT_PARTITION__"
"""Printed by Hive, the name of the directory, where a string partition column is NULL."""


def snapshot_of(case: str, hive: str, state: str) -> dict[str, str]:
    """``validTxns`` and ``validWriteIds`` in Hive's text forms."""
    lines = (STATES / case / hive / "expected" / f"{state}.snapshot").read_text().splitlines()
    return dict(line.split(" ", 1) for line in lines)


def hive_rows(case: str, hive: str, state: str) -> list[dict[str, Any]]:
    """The rows as Hive printed them."""
    text = (STATES / case / hive / "expected" / f"{state}.jsonl").read_text()
    rows = [json.loads(line) for line in text.splitlines()]
    return [
        {k: None if v == _DEFAULT else v for k, v in row.items() if k not in HASHES} for row in rows
    ]
