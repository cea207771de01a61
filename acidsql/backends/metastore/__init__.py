"""The store of a running Hive Metastore, asked over Thrift."""
