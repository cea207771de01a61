"""Row ids and the bucket property that they carry (Hive BucketCodec V1, RecordIdentifier)."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.model.ids import BucketId, StatementId, WriteId

CODEC_V1 = 1 << 29
BUCKET_ID_MAX = 4095
STATEMENT_ID_MAX = 4095


def encode_bucket(bucket_id: BucketId, statement_id: StatementId) -> int:
    """The bucket property of the rows that one statement writes into one bucket file.

    The bucket stands in higher bits than the statement, so sorting by row id keeps the rows of one
    write id and bucket together.

    >>> encode_bucket(BucketId(2), StatementId(0))
    537001984
    """
    if not 0 <= bucket_id <= BUCKET_ID_MAX:
        raise ValueError(f"bucket id {bucket_id} is not between 0 and {BUCKET_ID_MAX}")
    if not 0 <= statement_id <= STATEMENT_ID_MAX:
        raise ValueError(f"statement id {statement_id} is not between 0 and {STATEMENT_ID_MAX}")
    return CODEC_V1 | bucket_id << 16 | statement_id


def decode_bucket(bucket_property: int) -> BucketId:
    """The N of the file ``bucket_N`` that holds the row, and its delete events.

    >>> decode_bucket(536936449)
    1
    """
    _check(bucket_property)
    if bucket_property >> 29 == 0:
        return BucketId(bucket_property)
    return BucketId(bucket_property >> 16 & BUCKET_ID_MAX)


def decode_statement(bucket_property: int) -> StatementId:
    """The statement that wrote the row.

    >>> decode_statement(536936449)
    1
    """
    _check(bucket_property)
    return StatementId(0 if bucket_property >> 29 == 0 else bucket_property & STATEMENT_ID_MAX)


def _check(bucket_property: int) -> None:
    # Codec V0 (before Hive 3) is the bare bucket id; versions 2 to 7 do not exist.
    if bucket_property < 0 or bucket_property >> 29 > 1:
        raise ValueError(f"bucket property {bucket_property} has an unknown codec version")


@dataclass(frozen=True, slots=True, order=True)
class RowId:
    """A row's identity inside its partition; sorts as files and deletes are sorted."""

    write_id: WriteId
    bucket_property: int
    row_number: int
