"""Files that grow: their statistics are those of all rows, whatever the types and values are."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.model.table import Column
from acidsql.model.types import parse_type
from acidsql.orc.reader import open_orc
from acidsql.orc.schema import row_schema
from acidsql.orc.statistics import actual_statistics, contradictions, read_statistics
from tests.property.typed_values import PRIMITIVES, Kind, array_of, map_of, optional
from tests.unit.orc.test_appended import Growing, part

KINDS: list[Kind] = [*PRIMITIVES, array_of(PRIMITIVES[3]), map_of(PRIMITIVES[10], PRIMITIVES[4])]


@settings(max_examples=settings().max_examples, deadline=None)
@given(st.data())
def test_statistics_are_those_of_all_rows(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    kinds = data.draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    of = [Column(f"c{n}", parse_type(kind.text)) for n, kind in enumerate(kinds)]
    record = st.fixed_dictionaries({f"c{n}": optional(kind) for n, kind in enumerate(kinds)})
    growing, last = Growing(tmp_path_factory.mktemp("f")), None
    expected: list[pa.Table] = []
    for write_id in range(1, data.draw(st.integers(2, 4)) + 1):
        rows = [_arrow(row) for row in data.draw(st.lists(record, max_size=5))]
        last = part(growing.path, rows, of, write_id, last) or last
        growing.add()
        expected.append(pa.Table.from_pylist(rows, schema=row_schema(of)))
    with open_orc(io.BytesIO(growing.data), "f", exact=True) as opened:
        table = opened.read()
        said = read_statistics(io.BytesIO(growing.data), opened.tail)
    assert sum(stripe[0].values for stripe in said.stripes) == table.num_rows
    assert said.file[0].values == table.num_rows == sum(t.num_rows for t in expected)
    for batch in table.combine_chunks().to_batches():
        assert list(contradictions(said.file, actual_statistics(batch), table.num_rows)) == []


def _arrow(row: dict) -> dict:
    return {k: list(v.items()) if isinstance(v, dict) else v for k, v in row.items()}
