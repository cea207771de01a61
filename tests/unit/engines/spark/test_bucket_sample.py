"""The rows that a task keeps for a sample of buckets."""

import pyarrow as pa
import pytest

from acidsql.engines.spark.bucket_sample import kept_rows, type_of
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
        ("timestamp_ntz", "timestamp"),
        ("timestamp", "timestamp with local time zone"),
        ("struct<timestamp:int,b:timestamp_ntz>", "struct<timestamp:int,b:timestamp>"),
        ("array<timestamp>", "array<timestamp with local time zone>"),
    ],
)
def test_types_by_the_words_of_spark(text, kind):
    assert type_of(text) == parse_type(kind)


@pytest.mark.parametrize("text", ["interval day", "variant", "string collate UTF8_LCASE"])
def test_types_that_no_table_has(text):
    assert type_of(text) is None
