"""pyarrow's ORC writer loses values of slices and beneath nulls; what we hand to it comes back."""

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.orc as pa_orc
from hypothesis import given, settings

from acidsql.orc.nulls import settled

LEAVES = st.sampled_from(
    [
        (pa.int32(), st.integers(0, 9)),
        (pa.bool_(), st.booleans()),
        (pa.string(), st.sampled_from(["", "a", "bcd"])),
        (pa.float64(), st.sampled_from([0.5, -2.0])),
    ]
)


def nested(inner: Any) -> Any:
    """A list, a map or a struct of what is drawn inside: Arrow's type and a strategy of values."""

    def lists(item: Any) -> Any:
        kind, values = item
        return pa.list_(kind), st.lists(values | st.none(), max_size=3)

    def maps(item: Any) -> Any:
        kind, values = item
        pairs = st.dictionaries(st.integers(0, 9), values | st.none(), max_size=3)
        return pa.map_(pa.int32(), kind), pairs.map(lambda found: list(found.items()))

    def structs(items: Any) -> Any:
        kinds = [(f"f{at}", kind) for at, (kind, _) in enumerate(items)]
        values = {f"f{at}": values | st.none() for at, (_, values) in enumerate(items)}
        return pa.struct(kinds), st.fixed_dictionaries(values)

    return st.one_of(
        inner.map(lists), inner.map(maps), st.lists(inner, min_size=1, max_size=3).map(structs)
    )


@settings(max_examples=settings().max_examples * 3, deadline=None)
@given(kind=nested(st.recursive(LEAVES, nested, max_leaves=4)), data=st.data())
def test_a_stretch_of_nested_values(
    tmp_path_factory: Any, kind: tuple[Any, Any], data: st.DataObject
) -> None:
    type_, values = kind
    rows = data.draw(st.lists(values | st.none(), min_size=8, max_size=8))
    first, count = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))
    stretch = pa.array(rows, type_).slice(first, count)
    path: Path = tmp_path_factory.getbasetemp() / "stretch.orc"
    pa_orc.write_table(pa.table({"v": settled(stretch)}), str(path))
    assert pa_orc.read_table(str(path)).column(0).to_pylist() == rows[first : first + count]
