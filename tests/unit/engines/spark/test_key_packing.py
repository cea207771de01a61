"""No two rows share a packed key. Spark packs as numpy does: `property/test_key_packing.py`."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from acidsql.engines.spark.deletes import KeyPacking
from acidsql.model.ids import BucketId, StatementId
from acidsql.model.row_id import encode_bucket

Key = tuple[int, int, int, int]


def near(limit: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(0, min(3, limit)), st.integers(max(0, limit - 2), limit))


@st.composite
def packings(draw: st.DrawFn) -> tuple[KeyPacking, list[Key]]:
    packing = KeyPacking(draw(st.integers(0, 12)), draw(st.integers(1, 24)))
    keys = st.tuples(
        near((1 << packing.partition_bits) - 1),
        near((1 << packing.write_id_bits) - 1),
        st.builds(encode_bucket, near(4095).map(BucketId), near(4095).map(StatementId)),
        near((1 << packing.row_bits) - 1),
    )
    return packing, draw(st.lists(keys, min_size=1, max_size=20, unique=True))


def arrays(keys: list[Key]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    partition, write_id, bucket, row = (
        np.array(part, np.int64) for part in zip(*keys, strict=True)
    )
    return partition, {
        "originalTransaction": write_id,
        "bucket": bucket.astype(np.int32),
        "rowId": row,
    }


def oracle(packing: KeyPacking, key: Key) -> int:
    partition, write_id, bucket, row = key
    number = (bucket >> 16 & 4095) * 4096 + (bucket & 4095)
    packed = (partition * 2**packing.write_id_bits + write_id) * 2**24 + number
    return packed * 2**packing.row_bits + row


@settings(deadline=None)
@given(packings())
def test_packing_is_injective(given_keys: tuple[KeyPacking, list[Key]]) -> None:
    packing, keys = given_keys
    assert packing.holds(arrays(keys)[1])
    packed = packing.pack(*arrays(keys)).tolist()
    assert packed == [oracle(packing, key) for key in keys]
    assert len(set(packed)) == len(keys)
    assert all(0 <= p < 2**63 for p in packed)


def test_a_key_too_large_or_of_codec_v0_is_not_held() -> None:
    packing = KeyPacking(0, 3)
    keys = [(0, 8, 1 << 29, 0), (0, 1, 5, 0), (0, 1, 1 << 29, 1 << packing.row_bits)]
    assert [packing.holds(arrays([key])[1]) for key in keys] == [False, False, False]
    assert packing.holds(arrays([(0, 7, 1 << 29, 0)])[1])
    assert not KeyPacking(20, 19).holds(arrays([(0, 7, 1 << 29, 0)])[1])
