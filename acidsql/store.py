"""The store of a session: both ports in one, so that catalog and commits cannot disagree."""

from __future__ import annotations

from typing import Protocol

from acidsql.catalog import Catalog
from acidsql.txn.manager import TxnManager


class Store(TxnManager, Catalog, Protocol):
    """Transactions and the catalog, kept together."""
