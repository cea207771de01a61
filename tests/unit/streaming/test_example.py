"""examples/streaming_ingest.py"""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "streaming_ingest.py"


@pytest.mark.sqlite
def test_the_example_does_what_it_says(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("streaming_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    out = io.StringIO()
    module.run(tmp_path / "w", out)
    assert out.getvalue().splitlines() == [
        "left out record 2: celsius: it is not a number",
        "23 records written",
        "6 transactions committed",
        "2 batches",
        "day=2026-01-01",
        "day=2026-01-02",
        "0 problems",
    ]
