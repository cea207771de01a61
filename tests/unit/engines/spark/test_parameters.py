"""Numbers that Spark has no literal for are refused before Spark is asked."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from acidsql.engines.spark.parameters import bound
from acidsql.errors import AnalysisError


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (Decimal("1E99999999"), "a decimal of more than 38 digits"),
        (Decimal("-1E38"), "a decimal of more than 38 digits"),
        (Decimal("1E-39"), "a decimal of more than 38 digits"),
        (Decimal("0E-50"), "a decimal of more than 38 digits"),
        ([Decimal("1.5E-38"), 1], "a decimal of more than 38 digits"),
        (10**38, "a whole number of more than 38 digits"),
        (-(10**4000), "a whole number of more than 38 digits"),
        (Decimal("NaN"), "NaN is no decimal"),
        (Decimal("-Infinity"), "-Infinity is no decimal"),
    ],
    ids=range(9),
)
def test_a_number_of_too_many_digits(value: Any, why: str) -> None:
    with pytest.raises(AnalysisError, match=f'parameter "v" cannot be bound: {why}') as caught:
        bound("v", value)
    assert caught.value.hint == "Spark's numbers have up to 38 digits. Pass a float or a string."
