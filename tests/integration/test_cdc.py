"""examples/cdc.py: a feed of changes leaves the rows that plain Python says, also after a crash."""

from __future__ import annotations

import importlib.util
import io
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "cdc.py"


def load_example() -> Any:
    spec = importlib.util.spec_from_file_location("cdc_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("files", [2, pytest.param(3, marks=pytest.mark.thorough)])
def test_the_feed_is_taken_in(tmp_path: Path, spark: Any, files: int) -> None:
    cdc = load_example()
    cdc.FILES = files
    out = io.StringIO()
    assert cdc.run(tmp_path / "cdc", spark, out)
    told = out.getvalue().splitlines()
    assert [line.endswith("as in Python") for line in told].count(True) == cdc.FILES
    assert "crash: Spark will give micro-batch 0 to the sink once more" in told
    assert told[-1] == f"query stock has written default.stock up to micro-batch {cdc.FILES - 1}"


def test_the_feed_has_every_kind_of_change() -> None:
    cdc = load_example()
    feed = list(cdc.changes(cdc.FILES * cdc.CHANGES_OF_A_FILE))
    assert {change["op"] for change in feed} == {"insert", "update", "delete"}
    rows = cdc.apply(feed)
    assert 0 < len(rows) < cdc.IDS
