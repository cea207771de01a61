"""Locks: what a statement asks for, and which request waits for which lock (rules of Hive 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from acidsql.model.access import Access, Operation
from acidsql.model.ids import LockId, TxnId
from acidsql.txn.components import WRITES, TxnComponent
from acidsql.txn.entities import Lock, LockComponent, LockState, LockType, WriteOperation
from acidsql.txn.policy import DEFAULT_POLICY, TxnPolicy

_STRENGTH = {
    LockType.SHARED_READ: 1,
    LockType.SHARED_WRITE: 2,
    LockType.EXCL_WRITE: 3,
    LockType.EXCLUSIVE: 4,
}
_WAITS_FOR = {
    LockType.SHARED_READ: {LockType.EXCLUSIVE},
    LockType.SHARED_WRITE: {LockType.EXCL_WRITE, LockType.EXCLUSIVE},
    LockType.EXCL_WRITE: {LockType.SHARED_WRITE, LockType.EXCL_WRITE, LockType.EXCLUSIVE},
    LockType.EXCLUSIVE: set(LockType),
}
# Of two components of equal strength the heavier one stays. A write that is left out would be
# missing in the write set and for compaction. A read that is left out costs nothing.
_WEIGHT = {
    WriteOperation.NO_TXN: 0,
    WriteOperation.SELECT: 0,
    WriteOperation.COMPACT: 0,
    WriteOperation.INSERT: 1,
    WriteOperation.UPDATE: 2,
    WriteOperation.DELETE: 2,
}

Resource = tuple[str, str | None, str | None]


def lock_components(
    accesses: Sequence[Access], policy: TxnPolicy = DEFAULT_POLICY
) -> list[LockComponent]:
    """The lock request for everything that one statement does: a component for each resource.

    If a statement accesses a resource twice, the strongest type stays, with its operation. The
    components are sorted by resource.

    >>> from acidsql.model.names import TableName
    >>> name = TableName.of("default", "orders")
    >>> both = [Access.of(name, Operation.SELECT), Access.of(name, Operation.UPDATE)]
    >>> [(c.type.name, c.operation.name) for c in lock_components(both)]
    [('EXCL_WRITE', 'UPDATE')]
    """
    strongest: dict[Resource, LockComponent] = {}
    for access in accesses:
        component = _component(access, policy)
        key = (component.database, component.table, component.partition)
        existing = strongest.get(key)
        if existing is None or _rank(component) > _rank(existing):
            strongest[key] = component
    return sorted(strongest.values(), key=lambda c: (c.database, c.table or "", c.partition or ""))


def _rank(component: LockComponent) -> tuple[int, int]:
    return _STRENGTH[component.type], _WEIGHT[component.operation]


def _component(access: Access, policy: TxnPolicy) -> LockComponent:
    database = access.database.lower()
    table = access.table.lower() if access.table is not None else None
    match access.operation:
        case Operation.CREATE:
            return LockComponent(LockType.SHARED_READ, database)
        case Operation.DROP | Operation.ALTER:
            return LockComponent(LockType.EXCLUSIVE, database, table, _partition(access))
        case Operation.DESCRIBE:
            # Stronger than Hive's shared read: if two statements change the description of a table
            # at once, the change of one could undo that of the other.
            return LockComponent(LockType.EXCL_WRITE, database, table, _partition(access))
        case operation:
            return LockComponent(
                _data_lock(operation, policy, transactional=access.transactional),
                database,
                table,
                _partition(access),
                write_operation(operation),
                access.transactional,
                access.dynamic and operation is not Operation.SELECT,
            )


def _data_lock(operation: Operation, policy: TxnPolicy, *, transactional: bool) -> LockType:
    if operation is Operation.SELECT:
        return LockType.SHARED_READ
    if not transactional:
        # Readers of a plain table have no snapshot that would hide an unfinished insert.
        lenient = operation is Operation.INSERT and not policy.strict_locking
        return LockType.SHARED_READ if lenient else LockType.EXCLUSIVE
    match operation:
        case Operation.INSERT:
            # Where overwrites let readers in, an insert with a shared read would run beside an
            # overwrite. If it had the lower write id and committed later, the base would hide it.
            return LockType.SHARED_WRITE if policy.zero_wait_reads else LockType.SHARED_READ
        case Operation.OVERWRITE:
            return LockType.EXCL_WRITE if policy.zero_wait_reads else LockType.EXCLUSIVE
        case _:
            return LockType.EXCL_WRITE if policy.write_xlock else LockType.SHARED_WRITE


def write_operation(operation: Operation) -> WriteOperation:
    """The operation that Hive records for a read or write of rows.

    ValueError for operations on definitions, such as CREATE and DROP.

    >>> write_operation(Operation.OVERWRITE).name
    'UPDATE'
    """
    if operation is Operation.OVERWRITE:
        return WriteOperation.UPDATE
    return WriteOperation(operation.value)


def _partition(access: Access) -> str | None:
    return str(access.partition) if access.partition is not None else None


def requested_locks(
    txn_id: TxnId,
    lock_id: LockId,
    components: Sequence[LockComponent],
    user: str,
    host: str,
    agent_info: str,
) -> list[Lock]:
    """The locks of a new request, all of them waiting. Its components are counted from 1."""
    return [
        Lock(
            lock_id,
            number,
            txn_id,
            component.database,
            component.table,
            component.partition,
            LockState.WAITING,
            component.type,
            0,
            None,
            user,
            host,
            agent_info,
        )
        for number, component in enumerate(components, 1)
    ]


def compatible(requested: LockType, existing: LockType) -> bool:
    """Whether a request may be granted beside an earlier one on the same resource.

    >>> compatible(LockType.SHARED_READ, LockType.EXCL_WRITE)
    True
    """
    return existing not in _WAITS_FOR[requested]


def waits_for(requested: LockType) -> list[LockType]:
    """The types of earlier locks that a request has to wait for, where they meet.

    >>> [kind.name for kind in waits_for(LockType.SHARED_WRITE)]
    ['EXCL_WRITE', 'EXCLUSIVE']
    """
    return [kind for kind in LockType if kind in _WAITS_FOR[requested]]


def covers(held: LockType, wanted: LockType) -> bool:
    """Whether a transaction that holds one type need not ask for the other on the same resource.

    >>> covers(LockType.EXCL_WRITE, LockType.SHARED_READ)
    True
    """
    return _WAITS_FOR[wanted] <= _WAITS_FOR[held]


def same_resource(a: LockComponent | Lock, b: LockComponent | Lock) -> bool:
    """Whether two locks meet: a lock on a database or table covers everything inside it."""
    return encloses(a, b) or encloses(b, a)


def encloses(outer: LockComponent | Lock, inner: LockComponent | Lock | TxnComponent) -> bool:
    """Whether the resource of ``outer`` is that of ``inner``, or has it inside."""
    if outer.database != inner.database or outer.table not in (None, inner.table):
        return False
    return outer.partition in (None, inner.partition)


def blocks(existing: LockComponent | Lock, requested: LockComponent | Lock) -> bool:
    """Whether an earlier lock of another transaction, waiting or acquired, makes a request wait."""
    if not same_resource(existing, requested) or compatible(requested.type, existing.type):
        return False
    return not (_lets_work_inside(requested, existing) or _lets_work_inside(existing, requested))


def _lets_work_inside(database: LockComponent | Lock, inside: LockComponent | Lock) -> bool:
    """Whether the first is a shared read of a database, and the second an exclusive lock inside it.

    A shared read of a database only keeps the database itself as it is.
    """
    database_read = database.type is LockType.SHARED_READ and database.table is None
    return database_read and inside.type is LockType.EXCLUSIVE and inside.table is not None


def first_blocker(request: Sequence[Lock], existing: Iterable[Lock]) -> tuple[Lock, Lock] | None:
    """The first component that has to wait, with the earliest lock that it waits for, or None.

    Only locks with a smaller lock id count, so no request overtakes another. Locks of the same
    transaction do not count, and neither do requests that wait for one of those.
    """
    return next(_blockers(request, existing), None)


def last_blocker(lock_id: LockId, existing: Iterable[Lock]) -> LockId | None:
    """The latest of the locks that a waiting request waits for; None if nothing keeps it waiting.

    Requests are granted in their order. So once this lock has gone, most of the earlier ones have.
    """
    known = list(existing)
    request = [k for k in known if k.lock_id == lock_id and k.state is LockState.WAITING]
    return max((other.lock_id for _, other in _blockers(request, known)), default=None)


def _blockers(request: Sequence[Lock], existing: Iterable[Lock]) -> Iterator[tuple[Lock, Lock]]:
    known = sorted(existing, key=lambda e: (e.lock_id, e.internal_id))
    for component in request:
        for other in known:
            if keeps_waiting(other, component, known):
                yield component, other


def keeps_waiting(other: Lock, wanted: Lock, locks: Iterable[Lock]) -> bool:
    """Whether a lock, waiting or acquired, keeps another transaction's later request waiting.

    It does not if it waits itself for a lock that the later request's transaction holds. It can
    only be granted after the end of that transaction, so a transaction that asks twice for a table
    would wait for itself.
    """
    if other.txn_id == wanted.txn_id or other.lock_id >= wanted.lock_id:
        return False
    if not blocks(other, wanted):
        return False
    return other.state is LockState.ACQUIRED or not any(
        held.txn_id == wanted.txn_id and held.state is LockState.ACQUIRED and blocks(held, other)
        for held in locks
    )


def withdrawn_components(
    components: Iterable[TxnComponent], request: Sequence[Lock], locks: Iterable[Lock]
) -> list[TxnComponent]:
    """The components of a transaction that only its withdrawn request has recorded.

    A transaction that waited in vain for a lock may still commit. It has changed nothing under that
    lock, so it must not win a conflict over the transaction that it waited for.

    A component stays if a granted lock encloses it, because that lock may have recorded it. So a
    component without a partition does not stay for a lock on one partition: a write that reached
    partitions has named them by now.
    """
    granted = [
        lock
        for lock in locks
        if lock.txn_id == request[0].txn_id and lock.state is LockState.ACQUIRED
    ]
    return [
        c
        for c in components
        for asked in request
        if (c.database, c.table) == (asked.database, asked.table)
        and c.partition in (asked.partition, None)
        and c.operation in WRITES
        and not any(
            encloses(lock, c)
            and (lock.type is not LockType.SHARED_READ or c.operation is WriteOperation.INSERT)
            for lock in granted
        )
    ]


def describe_lock(lock: Lock) -> str:
    """The lock in one line, for messages about waiting."""
    place = "/".join(p for p in (lock.database, lock.table, lock.partition) if p is not None)
    owner = f"{lock.user}@{lock.host}"
    return (
        f"lockid:{lock.lock_id} of txnid:{lock.txn_id} ({owner}), "
        f"{lock.type.name} {lock.state.name.lower()} on {place}"
    )
