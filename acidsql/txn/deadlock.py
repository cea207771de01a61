"""Deadlocks: transactions that wait for each other in a circle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from acidsql.model.ids import LockId, TxnId
from acidsql.txn.entities import Lock, LockState, LockType
from acidsql.txn.locks import keeps_waiting, waits_for

Ahead = Callable[[TxnId], Iterator[TxnId]]
"""Gives the transactions that a transaction waits for."""


def deadlocked(locks: Sequence[Lock]) -> dict[TxnId, str]:
    """The transactions to abort so that none waits in a circle, each with the reason.

    ``locks`` are all locks of the store, waiting and acquired. Of each circle the youngest
    transaction is aborted, which loses the least work. A single statement asks for all its locks at
    once, so only transactions of several statements can be in a circle. (Hive 4.1 ends deadlocks in
    the same way. Earlier releases leave them to the time-out.)

    >>> deadlocked([])
    {}
    """
    queues = _Queues(locks)
    return _victims(queues.waiting, queues.ahead, queues.done, lambda _: True)


def losers(
    waits_for: Mapping[TxnId, set[TxnId]], may_lose: Callable[[TxnId], bool] = lambda _: True
) -> dict[TxnId, str]:
    """Of each circle the youngest transaction that may lose, with the reason.

    ``waits_for`` has, for each waiting transaction, those that it waits for. A circle in which no
    transaction may lose stays.

    >>> losers({TxnId(1): {TxnId(2)}, TxnId(2): {TxnId(1)}})
    {2: 'deadlock with txnid:1'}
    """

    def ahead(txn_id: TxnId) -> Iterator[TxnId]:
        return iter(sorted(waits_for.get(txn_id, ())))

    return _victims(sorted(waits_for), ahead, set(), may_lose)


def _victims(
    starts: Iterable[TxnId], ahead: Ahead, done: set[TxnId], may_lose: Callable[[TxnId], bool]
) -> dict[TxnId, str]:
    """Of each circle that is reached from ``starts`` the youngest transaction that may lose.

    ``done`` has the transactions that the search passes over. They are in no circle, are victims,
    or wait in a circle that stays. None of them is looked at a second time, so each circle costs
    about its own length.
    """
    victims: dict[TxnId, str] = {}
    for start in starts:
        while circle := _circle(start, ahead, done):
            victim = max(filter(may_lose, circle), default=None)
            if victim is None:
                done |= circle
            else:
                victims[victim] = _reason(circle, victim)
                done.add(victim)
    return victims


def _reason(circle: set[TxnId], victim: TxnId) -> str:
    others = ", ".join(f"txnid:{t}" for t in sorted(circle - {victim}))
    return f"deadlock with {others}"


def _circle(start: TxnId, ahead: Ahead, done: set[TxnId]) -> set[TxnId]:
    """The transactions of one circle that is reached from ``start``; empty if there is none.

    Transactions that are found to be in no circle are added to ``done``.
    """
    path: dict[TxnId, int] = {}
    stack: list[tuple[TxnId, Iterator[TxnId]]] = []
    following: TxnId | None = start if start not in done else None
    while stack or following is not None:
        if following is None:
            txn_id, _ = stack.pop()
            del path[txn_id]
            done.add(txn_id)
        elif following in path:
            return {txn_id for txn_id, _ in stack[path[following] :]}
        else:
            path[following] = len(stack)
            stack.append((following, ahead(following)))
        following = next((t for t in stack[-1][1] if t not in done), None) if stack else None
    return set()


@dataclass(slots=True)
class _Queue:
    """The locks of one type in one place, the oldest first.

    The transactions of the locks before index ``first`` need not be looked at again.
    """

    locks: list[Lock] = field(default_factory=list)
    first: int = 0

    def before(self, lock_id: LockId, done: set[TxnId]) -> Iterator[Lock]:
        """The older locks of transactions that may be in a circle.

        ``done`` has the others. It may grow while these locks are read.
        """
        at = self.first
        while at < len(self.locks) and self.locks[at].lock_id < lock_id:
            if self.locks[at].txn_id not in done:
                yield self.locks[at]
            elif at == self.first:
                self.first += 1
            at = max(at + 1, self.first)


class _Queues:
    """Which transaction waits for which: for all earlier locks in its way, not only for the first.

    A search reads each queue about once, however many transactions wait in it. It adds the
    transactions that need not be looked at again to ``done``.
    """

    def __init__(self, locks: Iterable[Lock]) -> None:
        self._queues: dict[tuple[_Place, LockType], _Queue] = defaultdict(_Queue)
        self._requests: dict[TxnId, list[Lock]] = defaultdict(list)
        self._granted: dict[TxnId, list[Lock]] = defaultdict(list)
        self.done: set[TxnId] = set()
        for lock in sorted(locks, key=lambda k: (k.lock_id, k.internal_id)):
            waits = lock.state is LockState.WAITING
            (self._requests if waits else self._granted)[lock.txn_id].append(lock)
            for place in _listed_at(lock):
                self._queues[place, lock.type].locks.append(lock)

    @property
    def waiting(self) -> list[TxnId]:
        """The transactions that wait."""
        return sorted(self._requests)

    def ahead(self, txn_id: TxnId) -> Iterator[TxnId]:
        """The transactions that one waits for, except those that are done."""
        granted = self._granted.get(txn_id, [])
        for request in self._requests.get(txn_id, []):
            for place in _met_at(request):
                for kind in waits_for(request.type):
                    queue = self._queues.get((place, kind), _EMPTY)
                    for other in queue.before(request.lock_id, self.done):
                        if keeps_waiting(other, request, granted):
                            yield other.txn_id


_Place = tuple[str | None, ...]
"""A database, table or partition. With `_INSIDE` at its end: everything that is locked in it."""

_EMPTY = _Queue()
_INSIDE = "…"


def _listed_at(lock: Lock) -> list[_Place]:
    """The places whose queues have a lock: its own, and the insides of its database and table."""
    database, table = (lock.database, _INSIDE), (lock.database, lock.table, _INSIDE)
    own = (lock.database, lock.table, lock.partition)
    return [own, database, table] if lock.table is not None else [own, database]


def _met_at(request: Lock) -> list[_Place]:
    """The places whose queues have all locks that a request meets, as `same_resource` says.

    They are the places around its own, and its own with everything inside.
    """
    around: list[_Place] = [(request.database, None, None)]
    if request.table is None:
        return [(request.database, _INSIDE)]
    if request.partition is None:
        return [*around, (request.database, request.table, _INSIDE)]
    whole = (request.database, request.table, None)
    return [*around, whole, (request.database, request.table, request.partition)]
