"""Which committed writes no directory covers, against a look at each pair."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acidsql.layout.dir_names import BaseDir, DeltaDir
from acidsql.layout.listing import ListedFile
from acidsql.layout.missing import missing_writes
from acidsql.model.ids import TxnId, WriteId
from acidsql.model.snapshot import ValidTxnList, ValidWriteIdList

write_ids = st.integers(1, 12).map(WriteId)
ranges = st.lists(st.tuples(write_ids, write_ids).map(sorted), max_size=8)


@given(ranges, st.none() | write_ids, st.lists(write_ids, unique=True))
def test_a_write_is_missing_if_no_range_has_it(deltas, base, committed):
    names = [DeltaDir(lowest, highest).name for lowest, highest in deltas]
    reached = 0 if base is None else base
    if base is not None:
        names.append(BaseDir(base).name)
    seen = ValidWriteIdList("default.t", WriteId(20))
    files = [ListedFile(f"{name}/bucket_00000", 9) for name in names]
    found = missing_writes(files, [], committed, seen, ValidTxnList(TxnId(20)))
    assert found == [
        w
        for w in sorted(committed)
        if w > reached and not any(low <= w <= high for low, high in deltas)
    ]
