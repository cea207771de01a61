"""What a streaming connection has done so far, in numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConnectionStats:
    """What a connection has done so far.

    ``records_written`` counts accepted records, of aborted transactions, too; ``bytes_written``
    their size in memory, where records that came one by one count once they are a table.
    ``values_nulled`` and ``fields_dropped`` are what a lenient writer did.
    """

    records_written: int = 0
    records_rejected: int = 0
    values_nulled: int = 0
    fields_dropped: int = 0
    bytes_written: int = 0
    flushes: int = 0
    batches_opened: int = 0
    committed_transactions: int = 0
    aborted_transactions: int = 0
