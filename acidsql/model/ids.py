"""Ids that must not be mistaken for one another (glossary: docs/architecture.md)."""

from __future__ import annotations

from typing import NewType

TxnId = NewType("TxnId", int)
"""One transaction, numbered across all tables from 1; 0 means "no transaction"."""

WriteId = NewType("WriteId", int)
"""A table's own number for one transaction's writes, rising from 1."""

StatementId = NewType("StatementId", int)
"""Numbers the write statements, and the legs of a MERGE, inside one transaction: 0 to 4095."""

BucketId = NewType("BucketId", int)
"""The N of ``bucket_N``: hash bucket of a bucketed table, else the writer's number: 0 to 4095."""

LockId = NewType("LockId", int)
"""One lock request; its components are numbered inside it."""

CompactionId = NewType("CompactionId", int)
"""One entry of the compaction queue."""

NO_TXN = TxnId(0)
NO_WRITE_ID, FIRST_WRITE_ID = WriteId(0), WriteId(1)
