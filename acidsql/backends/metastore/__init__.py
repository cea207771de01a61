"""The store of a running Hive Metastore, asked over Thrift."""

from acidsql.backends.metastore.store import MetastoreStore

__all__ = ["MetastoreStore"]
