"""What a lock request records about later writes."""

from acidsql.model.ids import TxnId, WriteId
from acidsql.model.names import TableName
from acidsql.txn.components import recorded_components
from acidsql.txn.entities import LockComponent, LockType, WriteOperation


def component(operation, partition=None, table="t", **flags):
    return LockComponent(
        LockType.SHARED_WRITE, "default", table, partition, WriteOperation(operation), **flags
    )


def recorded(*request):
    write_ids = {TableName("default", "t"): WriteId(7)}
    rows = recorded_components(TxnId(3), request, write_ids)
    assert {(r.txn_id, r.database) for r in rows} <= {(3, "default")}
    return [(r.table, r.partition, r.operation.value, r.write_id) for r in rows]


def test_writes_are_recorded_with_their_write_id():
    assert recorded(component("i"), component("u", "p=1"), component("d", table="u")) == [
        ("t", None, "i", 7),
        ("t", "p=1", "u", 7),
        ("u", None, "d", None),
    ]


def test_reads_plain_tables_and_databases_are_not():
    assert recorded(component("s"), component("-"), component("i", transactional=False)) == []
    assert recorded(LockComponent(LockType.EXCLUSIVE, "default")) == []


def test_a_dynamic_write_has_one_row_for_its_table():
    assert recorded(component("i", dynamic=True), component("i", "p=1", dynamic=True)) == [
        ("t", None, "i", 7)
    ]


def test_a_dynamic_row_is_an_update_if_anything_changes_rows():
    for request in (["i", "d"], ["d", "i"], ["u"], ["d"]):
        assert recorded(*(component(o, dynamic=True) for o in request)) == [("t", None, "u", 7)]


def test_a_static_and_a_dynamic_update_of_a_table_are_one_row():
    assert recorded(component("u"), component("u", "p=1", dynamic=True)) == [("t", None, "u", 7)]
