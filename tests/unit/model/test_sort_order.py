"""ORDER BY as text: what a queue keeps, of us or of Hive."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from acidsql.model.sort_order import SortColumn, parse_sort_order, sort_order_text

columns = st.builds(
    SortColumn,
    st.text("abc_é `,", min_size=1, max_size=8).map(str.lower),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(columns, min_size=1, max_size=4).map(tuple))
def test_what_is_written_is_read(order: tuple[SortColumn, ...]) -> None:
    assert parse_sort_order(sort_order_text(order)) == order


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("ORDER BY b", (SortColumn("b", False, False),)),
        ("order   by B desc", (SortColumn("b", True, True),)),
        ("ORDER BY a ASC, b DESC NULLS LAST",
         (SortColumn("a", False, False), SortColumn("b", True, False))),
        ("ORDER BY `order by`, desc", (SortColumn("order by", False, False),
                                       SortColumn("desc", False, False))),
    ],
)  # fmt: skip
def test_as_hive_writes_it(text: str, order: tuple[SortColumn, ...]) -> None:
    assert parse_sort_order(text) == order


@pytest.mark.parametrize(
    "text",
    ["", "b", "ORDER BY", "ORDER BY 1", "ORDER BY upper(b)", "ORDER BY a + 1", "ORDER BY a,",
     "ORDER BY a b", "ORDER BY a; DROP TABLE t", "ORDER BY t.a", "SORT BY a", "ORDER BYa"],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an ORDER BY of columns"):
        parse_sort_order(text)
