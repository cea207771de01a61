"""DELETE of all rows of partitions: a base without rows in place of an event for each row."""

from __future__ import annotations

from acidsql.model.prune import whole_partitions
from acidsql.plans.delete import DeletePlan
from acidsql.plans.plan import WritePlan
from acidsql.ports.engine import WriteContext
from acidsql.txn.manager import TxnManager


def emptying(plan: WritePlan, context: WriteContext, txns: TxnManager) -> WritePlan:
    """The plan; for a DELETE of whole partitions the one that empties them, where that is safe.

    A base hides every row of a lower write id, not only those that its transaction sees. So no
    other transaction may hold a lower write id that it has not used yet, or have committed one that
    the snapshot does not see. The statement has its locks, but an INSERT beside it needs none that
    exclude it. A base hides no row of a higher write id: that the snapshot sees none is checked for
    every change of rows (`execution.write`).

    Only for a statement that is a transaction of its own. In a block, the base would also hide what
    other statements of the block insert.
    """
    if not isinstance(plan, DeletePlan) or not plan.whole_partitions:
        return plan
    snapshot, own = context.read.tables[plan.table], context.write_ids[plan.table]
    if whole_partitions(snapshot.table, snapshot.partitions, plan.predicates) is None:
        return plan
    now = txns.valid_write_ids([plan.table], txns.valid_txns())[plan.table]
    if not snapshot.write_ids.sees_all_below(own, now):
        return plan
    return plan.model_copy(update={"empties": True})
