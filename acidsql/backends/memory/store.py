"""The store: both ports over one state."""

from __future__ import annotations

from acidsql.backends.memory.catalog import MemoryCatalog
from acidsql.backends.memory.compactions import MemoryCompactions


class MemoryStore(MemoryCompactions, MemoryCatalog):
    """Catalog and transaction manager of one process, gone with it.

    It says what every other store must answer: tests/property/test_txn_stores.py compares them.
    """

    def close(self) -> None:
        """There is nothing to release."""
