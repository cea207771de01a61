"""acidsql/session/parameters.py: what may hold the values of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from acidsql.errors import AnalysisError
from acidsql.session.parameters import named_arguments


@pytest.mark.parametrize(
    "args",
    [[1, "a"], (1, "a"), np.array([1, "a"], object), pd.Series([1, "a"], index=[5, 6])],
    ids=["list", "tuple", "array", "series"],
)
def test_values_in_order(args: Any) -> None:
    assert named_arguments(args) == {"_1": 1, "_2": "a"}


@pytest.mark.parametrize(
    "args",
    [
        pd.DataFrame({"a": [1], "b": [2]}),
        pl.DataFrame({"a": [1], "b": [2]}),
        np.array([[1, 2], [3, 4]]),
        np.array(5),
        {1},
        iter([1]),
    ],
    ids=["pandas", "polars", "two dimensions", "none", "set", "iterator"],
)
def test_what_is_no_list_of_values(args: Any) -> None:
    with pytest.raises(AnalysisError, match="args must be a list or a dict"):
        named_arguments(args)
