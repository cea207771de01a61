"""A store that is a Hive Metastore, reached over Thrift."""

from __future__ import annotations
