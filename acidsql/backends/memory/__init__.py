"""The reference model: catalog and transaction manager in plain Python values."""

from acidsql.backends.memory.store import MemoryStore

__all__ = ["MemoryStore"]
