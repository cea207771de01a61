"""The verbs of both ports over SQL, written once for every relational store."""

from acidsql.backends.relational.store import RelationalStore

__all__ = ["RelationalStore"]
