"""REFRESH, CACHE, UNCACHE and CLEAR CACHE: nothing is cached, so they only look for the table."""

from __future__ import annotations

from acidsql.execution.result import Result
from acidsql.execution.scope import Scope
from acidsql.planner.names import find_relation, unknown_table
from acidsql.statements.cache import Cache
from acidsql.statements.fragment import TableRef


def cache(statement: Cache, scope: Scope) -> Result:
    """Say why nothing is done. TableNotFoundError if the table is not there."""
    target = statement.target
    if target is not None and not statement.if_exists and not _is_there(target, scope):
        raise unknown_table(target, scope.names)
    return Result("cache", message=statement.note)


def _is_there(target: TableRef, scope: Scope) -> bool:
    is_frame = target.database is None and scope.names.is_frame(target.table)
    return is_frame or find_relation(target, scope.names) is not None
