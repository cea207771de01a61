"""TPC-H through the life of an ACID table: after every step the answers are DuckDB's."""

import importlib.util
import io
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "tpch.py"
SCALES = [0.002, pytest.param(0.01, marks=pytest.mark.thorough)]


def load_example():
    spec = importlib.util.spec_from_file_location("tpch_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tpch = load_example()


@pytest.fixture(scope="module", params=SCALES)
def life(request, tmp_path_factory):
    """The directory of a run and its comparisons."""
    directory = tmp_path_factory.mktemp("tpch")
    return directory, tpch.run(request.param, directory, io.StringIO())


@pytest.mark.parametrize("step", tpch.STEPS)
def test_answers_are_those_of_duckdb(life, step):
    _, comparisons = life
    of_step = [c for c in comparisons if c.step == step]
    assert {c.what for c in of_step} == {"rows changed", *tpch.QUERIES}
    for comparison in of_step:
        assert comparison.equal, (comparison.what, comparison.ours, comparison.theirs)


@pytest.mark.parametrize("step", list(tpch.STATEMENTS))
def test_every_write_changes_rows(life, step):
    _, comparisons = life
    ((changed,),) = next(
        c.theirs for c in comparisons if (c.step, c.what) == (step, "rows changed")
    )
    assert changed > 100


def test_compaction_leaves_one_base_in_each_partition(life):
    directory, _ = life
    left = [name.split("/") for name in tpch.directories(directory / "warehouse" / "lineitem")]
    assert [partition for partition, _ in left] == [f"l_shipyear={y}" for y in range(1992, 1999)]
    assert all(name.startswith("base_") for _, name in left)
