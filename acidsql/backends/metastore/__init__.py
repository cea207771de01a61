"""The store in a running Hive Metastore, over Thrift."""

from acidsql.backends.metastore.store import MetastoreStore

__all__ = ["MetastoreStore"]
