from __future__ import annotations

import pytest

from acidsql.errors import AnalysisError, ColumnNotFoundError
from acidsql.model.names import TableName
from acidsql.plans.insert import InsertPlan, columns_by_name
from acidsql.plans.sql_text import SqlText

PLAN = InsertPlan(
    table=TableName.of("default", "t"),
    columns=("k", "v", "d"),
    static_partition=(("e", "5"),),
    rows=SqlText.of("SELECT …"),
    by_name=True,
)


def filled(*names: str) -> list[str]:
    return columns_by_name(PLAN, names, ["d", "e"])


def test_columns_in_any_case_and_order_fill_those_of_the_same_name() -> None:
    assert filled("D", "k") == ["d", "k"]


@pytest.mark.parametrize(
    ("names", "kind", "message"),
    [
        (["d", "k", "K"], AnalysisError, 'column "k" is given twice'),
        (["d", "E"], AnalysisError, 'column "e" is given twice'),
        (["d", "W"], ColumnNotFoundError, 'table "default.t" has no column "w"'),
        (["k", "v"], AnalysisError, 'no column for the partition column "d"'),
    ],
)
def test_what_fits_no_column(names: list[str], kind: type[AnalysisError], message: str) -> None:
    with pytest.raises(kind, match=message):
        filled(*names)
