"""The rows that a task keeps for a sample of buckets."""

import pyarrow as pa
import pytest

from acidsql.engines.spark.bucket_sample import bucketable, kept_rows
from acidsql.layout.bucketing import bucket_numbers
from acidsql.model.types import PrimitiveType, parse_type

TEXT = PrimitiveType("string")


def test_every_row_is_in_one_bucket_and_the_keys_are_gone():
    values = [f"v{n}" for n in range(20)] + [None]
    keys = pa.StructArray.from_arrays([pa.array(values)], ["k"])
    batch = pa.record_batch([pa.array(range(21)), keys], names=["id", "keys"])
    found = []
    for bucket in range(3):
        [rows] = kept_rows([TEXT], bucket, 3, 2)(iter([batch]))
        assert rows.schema.names == ["id"]
        wanted = bucket_numbers([pa.array(values)], [TEXT], 3, 2) == bucket
        assert rows["id"].to_pylist() == [n for n in range(21) if wanted[n]]
        found += rows["id"].to_pylist()
    assert sorted(found) == list(range(21))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("char(3)", "char(3)"),
        ("timestamp_ntz", "timestamp"),
        ("struct<timestamp:int,b:timestamp_ntz>", "struct<timestamp:int,b:timestamp>"),
    ],
)
def test_spark_types_that_hive_hashes(text, kind):
    assert bucketable(text, 2) == parse_type(kind)


@pytest.mark.parametrize(
    "text", ["timestamp", "array<timestamp>", "void", "interval day", "binary", "variant"]
)
def test_types_without_a_known_hash(text):
    assert bucketable(text, 2) is None
