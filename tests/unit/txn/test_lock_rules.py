"""Accesses → lock requests."""

import pytest

from acidsql.model.access import Access, Operation
from acidsql.model.names import PartitionName, TableName
from acidsql.txn.entities import LockComponent, LockType, WriteOperation
from acidsql.txn.locks import blocks, compatible, lock_components

T = TableName("default", "t")
P1 = PartitionName.of({"p": "a/b"})
R, W, X, E = (
    LockType.SHARED_READ,
    LockType.SHARED_WRITE,
    LockType.EXCL_WRITE,
    LockType.EXCLUSIVE,
)


def one(access):
    (component,) = lock_components([access])
    return component


@pytest.mark.parametrize(
    ("operation", "type"),
    [
        (Operation.SELECT, R),
        (Operation.INSERT, R),
        (Operation.UPDATE, X),
        (Operation.DELETE, X),
    ],
)
def test_transactional_tables(operation, type):
    write = WriteOperation(operation.value)
    assert one(Access.of(T, operation)) == LockComponent(type, "default", "t", None, write)
    assert one(Access.of(T, operation, P1)) == LockComponent(type, "default", "t", "p=a%2Fb", write)


@pytest.mark.parametrize("operation", [Operation.INSERT, Operation.UPDATE, Operation.DELETE])
def test_dynamic_writes_lock_the_table(operation):
    component = one(Access.of(T, operation, dynamic=True))
    assert component.partition is None
    assert component.dynamic


def test_plain_tables():
    assert one(Access.of(T, Operation.INSERT, transactional=False)) == LockComponent(
        E, "default", "t", None, WriteOperation.INSERT, transactional=False
    )
    assert one(Access.of(T, Operation.SELECT, transactional=False)).type is R


def test_create_reads_the_database_and_drop_excludes_everybody():
    assert one(Access.of(T, Operation.CREATE)) == LockComponent(R, "default")
    assert one(Access.of(T, Operation.DROP)) == LockComponent(E, "default", "t")
    assert one(Access("default", None, Operation.DROP)) == LockComponent(E, "default")


def test_names_are_lowered():
    component = one(Access("Sales", "Orders", Operation.SELECT))
    assert (component.database, component.table) == ("sales", "orders")


@pytest.mark.parametrize("first", range(2))
def test_the_strongest_stays_with_its_operation(first):
    accesses = [Access.of(T, Operation.SELECT), Access.of(T, Operation.DELETE)]
    (component,) = lock_components([accesses[first], accesses[1 - first]])
    assert (component.type, component.operation) == (X, WriteOperation.DELETE)


@pytest.mark.parametrize("first", range(2))
def test_an_insert_that_reads_its_own_table_stays_an_insert(first):
    accesses = [Access.of(T, Operation.SELECT), Access.of(T, Operation.INSERT)]
    (component,) = lock_components([accesses[first], accesses[1 - first]])
    assert component.operation is WriteOperation.INSERT


def test_resources_are_kept_apart_and_sorted():
    other = TableName("default", "a")
    components = lock_components(
        [
            Access.of(T, Operation.INSERT, P1),
            Access.of(T, Operation.SELECT),
            Access.of(other, Operation.SELECT),
        ]
    )
    assert [(c.table, c.partition) for c in components] == [
        ("a", None),
        ("t", None),
        ("t", "p=a%2Fb"),
    ]


def test_no_accesses_no_locks():
    assert lock_components([]) == []


@pytest.mark.parametrize("requested", list(LockType))
@pytest.mark.parametrize("existing", list(LockType))
def test_compatibility_has_no_direction(requested, existing):
    """The matrix is symmetric, so who came first decides only who waits."""
    assert compatible(requested, existing) == compatible(existing, requested)
    a, b = LockComponent(requested, "default", "t"), LockComponent(existing, "default", "t")
    assert blocks(a, b) == blocks(b, a) == (not compatible(requested, existing))
