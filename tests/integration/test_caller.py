"""What a caller binds, whatever it is: Spark binds what this process does not write itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import acidsql
from acidsql.errors import AcidSqlError
from acidsql.session.session import Session
from tests.unit.session.test_caller import INSERT, ODD


@pytest.fixture
def table(warehouse: Path, spark: Any) -> Iterator[Session]:
    with acidsql.connect(warehouse, metastore="memory:", spark=spark) as session:
        session.execute("CREATE TABLE t (k int, v string) TBLPROPERTIES ('transactional' = 'true')")
        yield session


@pytest.mark.parametrize("args", [[1], (1,), np.array([1]), range(1, 2)], ids=type)
def test_args_that_have_an_order(table: Session, args: Sequence[int]) -> None:
    assert table.execute(INSERT, args).rows_inserted == 1


@pytest.mark.one_in(2)
@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
def test_values_of_odd_types(table: Session, odd: Any) -> None:
    """Bound, or refused; nothing is written that was not."""
    for given in ([odd], [[odd]], [{"a": odd}]):
        try:
            result = table.execute(INSERT, given)
        except AcidSqlError:
            continue
        assert result.rows_inserted == 1
