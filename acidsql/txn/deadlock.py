"""Deadlocks: transactions that wait for each other in a circle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from acidsql.model.ids import LockId, TxnId
from acidsql.txn.entities import Lock, LockState, LockType
from acidsql.txn.locks import keeps_waiting, waits_for

Ahead = Callable[[TxnId], Iterator[TxnId]]
"""The transactions that one waits for."""


def deadlocked(locks: Sequence[Lock]) -> dict[TxnId, str]:
    """The transactions to abort, so that nobody waits in a circle, each with the reason.

    Of each circle the youngest loses: it has the least to lose. ``locks`` are all that the store
    knows, waiting and acquired. Single statements ask for all their locks at once, so only
    transactions of several statements can be here (Hive 4.1 detects them in the same way, earlier
    releases leave them to time out).

    >>> deadlocked([])
    {}
    """
    queues = _Queues(locks)
    victims: dict[TxnId, str] = {}
    while circle := _circle(queues.waiting, queues.ahead, queues.pass_over(victims)):
        victim = max(circle)
        victims[victim] = _reason(circle, victim)
    return victims


def losers(
    waits_for: Mapping[TxnId, set[TxnId]], may_lose: Callable[[TxnId], bool] = lambda _: True
) -> dict[TxnId, str]:
    """The youngest of each circle that may lose, with the reason.

    >>> losers({TxnId(1): {TxnId(2)}, TxnId(2): {TxnId(1)}})
    {2: 'deadlock with txnid:1'}
    """
    victims: dict[TxnId, str] = {}
    while circle := _circle(sorted(waits_for), _sorted_ahead(waits_for), set()):
        victim = max(filter(may_lose, circle), default=None)
        if victim is None:
            waits_for = {txn: ahead - circle for txn, ahead in waits_for.items()}
            continue
        victims[victim] = _reason(circle, victim)
        waits_for = {txn: ahead - {victim} for txn, ahead in waits_for.items() if txn != victim}
    return victims


def _sorted_ahead(waits_for: Mapping[TxnId, set[TxnId]]) -> Ahead:
    return lambda txn_id: iter(sorted(waits_for.get(txn_id, ())))


def _reason(circle: set[TxnId], victim: TxnId) -> str:
    others = ", ".join(f"txnid:{t}" for t in sorted(circle - {victim}))
    return f"deadlock with {others}"


def _circle(starts: Iterable[TxnId], ahead: Ahead, done: set[TxnId]) -> set[TxnId]:
    """The transactions of some circle, or none. ``done`` grows by those known to be in none."""
    for start in starts:
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
    """Locks of one type in one place, the oldest first; before ``first`` nobody is in a circle."""

    locks: list[Lock] = field(default_factory=list)
    first: int = 0

    def before(self, lock_id: LockId, done: set[TxnId]) -> Iterator[Lock]:
        """The older ones of those who may be in a circle. They may come to be known meanwhile."""
        at = self.first
        while at < len(self.locks) and self.locks[at].lock_id < lock_id:
            if self.locks[at].txn_id not in done:
                yield self.locks[at]
            elif at == self.first:
                self.first += 1
            at = max(at + 1, self.first)


class _Queues:
    """Who waits for whom: everybody with an earlier lock, not only the first who blocks.

    A search goes over each queue about once, however many wait in it: who is known to be in no
    circle is not looked at again.
    """

    def __init__(self, locks: Iterable[Lock]) -> None:
        self._queues: dict[tuple[_Place, LockType], _Queue] = defaultdict(_Queue)
        self._requests: dict[TxnId, list[Lock]] = defaultdict(list)
        self._granted: dict[TxnId, list[Lock]] = defaultdict(list)
        self._done: set[TxnId] = set()
        for lock in sorted(locks, key=lambda k: (k.lock_id, k.internal_id)):
            waits = lock.state is LockState.WAITING
            (self._requests if waits else self._granted)[lock.txn_id].append(lock)
            for place in _listed_at(lock):
                self._queues[place, lock.type].locks.append(lock)

    @property
    def waiting(self) -> list[TxnId]:
        """The transactions that wait."""
        return sorted(self._requests)

    def pass_over(self, txns: Iterable[TxnId]) -> set[TxnId]:
        """Begin a search in which these do not count; what is known to be in no circle."""
        self._done = {*txns}
        for queue in self._queues.values():
            queue.first = 0
        return self._done

    def ahead(self, txn_id: TxnId) -> Iterator[TxnId]:
        """The transactions that one waits for, but those known to be in no circle."""
        granted = self._granted.get(txn_id, [])
        for request in self._requests.get(txn_id, []):
            for place in _met_at(request):
                for kind in waits_for(request.type):
                    queue = self._queues.get((place, kind), _NOBODY)
                    for other in queue.before(request.lock_id, self._done):
                        if keeps_waiting(other, request, granted):
                            yield other.txn_id


_Place = tuple[str | None, ...]
"""What is locked, or, with an ellipsis behind, all that is locked in it."""

_NOBODY = _Queue()
_INSIDE = "…"


def _listed_at(lock: Lock) -> list[_Place]:
    """The queues in which a lock is: that of what it locks, and those of what this lies in."""
    database, table = (lock.database, _INSIDE), (lock.database, lock.table, _INSIDE)
    own = (lock.database, lock.table, lock.partition)
    return [own, database, table] if lock.table is not None else [own, database]


def _met_at(request: Lock) -> list[_Place]:
    """The queues of all that a request meets (`same_resource`): around it, and inside of it."""
    around: list[_Place] = [(request.database, None, None)]
    if request.table is None:
        return [(request.database, _INSIDE)]
    if request.partition is None:
        return [*around, (request.database, request.table, _INSIDE)]
    whole = (request.database, request.table, None)
    return [*around, whole, (request.database, request.table, request.partition)]
