"""TPC-H through the life of an ACID table: after every step the answers are DuckDB's."""

import importlib.util
import io
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "tpch.py"


def load_example():
    spec = importlib.util.spec_from_file_location("tpch_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tpch = load_example()
FORMS = [
    pytest.param((0.002, ("q6", "totals")), id="small", marks=pytest.mark.thorough),
    pytest.param((0.01, tuple(tpch.QUERIES)), id="larger", marks=pytest.mark.thorough),
]
"""The scale of the data, and what is asked after each step."""


@pytest.fixture(scope="module", params=FORMS)
def life(request, tmp_path_factory):
    """The directory of a run, what it asked, and its comparisons."""
    scale, queries = request.param
    directory = tmp_path_factory.mktemp("tpch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tpch, "QUERIES", {name: tpch.QUERIES[name] for name in queries})
        return directory, queries, tpch.run(scale, directory, io.StringIO())


@pytest.mark.parametrize("step", tpch.STEPS)
def test_answers_are_those_of_duckdb(life, step):
    _, queries, comparisons = life
    of_step = [c for c in comparisons if c.step == step]
    assert {c.what for c in of_step} == {"rows changed", *queries}
    for comparison in of_step:
        assert comparison.equal, (comparison.what, comparison.ours, comparison.theirs)


@pytest.mark.parametrize("step", list(tpch.STATEMENTS))
def test_every_write_changes_rows(life, step):
    *_, comparisons = life
    ((changed,),) = next(
        c.theirs for c in comparisons if (c.step, c.what) == (step, "rows changed")
    )
    assert changed > 100


def test_compaction_leaves_one_base_in_each_partition(life):
    directory, *_ = life
    left = [name.split("/") for name in tpch.directories(directory / "warehouse" / "lineitem")]
    assert [partition for partition, _ in left] == [f"l_shipyear={y}" for y in range(1992, 1999)]
    assert all(name.startswith("base_") for _, name in left)
