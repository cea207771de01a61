"""Deadlocks: transactions that wait for each other in a circle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from acidsql.model.ids import TxnId
from acidsql.txn.entities import Lock, LockState
from acidsql.txn.locks import keeps_waiting


def deadlocked(locks: Sequence[Lock]) -> dict[TxnId, str]:
    """The transactions to abort, so that nobody waits in a circle, each with the reason.

    Of each circle the youngest loses: it has the least to lose. ``locks`` are all that the store
    knows, waiting and acquired. Single statements ask for all their locks at once, so only
    transactions of several statements can be here (Hive 4.1 detects them in the same way, earlier
    releases leave them to time out).

    >>> deadlocked([])
    {}
    """
    return losers(_waits_for(locks))


def losers(
    waits_for: Mapping[TxnId, set[TxnId]], may_lose: Callable[[TxnId], bool] = lambda _: True
) -> dict[TxnId, str]:
    """The youngest of each circle that may lose, with the reason.

    >>> losers({TxnId(1): {TxnId(2)}, TxnId(2): {TxnId(1)}})
    {2: 'deadlock with txnid:1'}
    """
    victims: dict[TxnId, str] = {}
    while circle := _circle(waits_for):
        victim = max(filter(may_lose, circle), default=None)
        if victim is None:
            waits_for = {txn: ahead - circle for txn, ahead in waits_for.items()}
            continue
        others = ", ".join(f"txnid:{t}" for t in sorted(circle - {victim}))
        victims[victim] = f"deadlock with {others}"
        waits_for = {txn: ahead - {victim} for txn, ahead in waits_for.items() if txn != victim}
    return victims


def _waits_for(locks: Sequence[Lock]) -> dict[TxnId, set[TxnId]]:
    """Who waits for whom: everybody with an earlier lock, not only the first who blocks."""
    edges: dict[TxnId, set[TxnId]] = {}
    for lock in locks:
        if lock.state is not LockState.WAITING:
            continue
        edges.setdefault(lock.txn_id, set()).update(
            other.txn_id for other in locks if keeps_waiting(other, lock, locks)
        )
    return edges


def _circle(waits_for: Mapping[TxnId, set[TxnId]]) -> set[TxnId]:
    """The transactions of some circle, or none."""
    done: set[TxnId] = set()
    for start in sorted(waits_for):
        path: list[TxnId] = []
        stack = [(start, iter(sorted(waits_for[start])))]
        path.append(start)
        while stack:
            _, ahead = stack[-1]
            following = next((t for t in ahead if t in waits_for and t not in done), None)
            if following is None:
                done.add(path.pop())
                stack.pop()
            elif following in path:
                return set(path[path.index(following) :])
            else:
                path.append(following)
                stack.append((following, iter(sorted(waits_for[following]))))
    return set()
