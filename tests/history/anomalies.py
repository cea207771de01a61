"""What is wrong with a history, if snapshot isolation is promised: Adya's anomalies and their kin.

Snapshots are promised to be fresh, too: what was committed before a transaction began is seen. So
the order of real time is an order like those of writes and reads. Write skew is allowed (G2: a
circle in which two anti-dependencies follow each other).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby, pairwise

from tests.history.history import Append, Outcome, Read, Transaction

Node = tuple[str, bool]
"""A transaction, and whether an anti-dependency led to it."""


class Anomaly(Enum):
    """What no reader or writer may meet."""

    DIRTY_WRITE = "G0: writes in different orders"
    ABORTED_READ = "G1a: a value of an aborted transaction is read"
    INTERMEDIATE_READ = "G1b: a transaction is read in part"
    CIRCULAR_READ = "G1c: a circle of writes and reads"
    READ_SKEW = "G-single: a circle with one anti-dependency"
    SNAPSHOT = "G-nonadjacent: a circle in which no two anti-dependencies follow each other"
    STALE_READ = "realtime: a circle with the order of real time in it"
    LOST_UPDATE = "lost update: two have appended to the same version"
    LOST_APPEND = "an append is missing in a later read"
    OWN_WRITES = "internal: own reads and appends are not as they were"
    ORDER = "incompatible orders of one list"
    DOUBLED = "a value is there twice"
    UNWRITTEN = "a value is read that nobody appended"


class Edge(Enum):
    """Why one transaction comes before another one."""

    WRITE = "ww"
    READ = "wr"
    ANTI = "rw"
    TIME = "rt"


@dataclass(frozen=True)
class Finding:
    anomaly: Anomaly
    what: str


def find_anomalies(history: Sequence[Transaction]) -> list[Finding]:
    """Everything found; a circle of each kind at most once for each group that it connects."""
    return list(_Search(history).findings())


class _Search:
    def __init__(self, history: Sequence[Transaction]) -> None:
        self.all = {t.name: t for t in history}
        assert len(self.all) == len(history), "two transactions have one name"
        self.writer: dict[tuple[str, int], str] = {}
        for txn in history:
            for op in txn.ops:
                if isinstance(op, Append):
                    assert (op.key, op.value) not in self.writer, f"{op} comes twice"
                    self.writer[op.key, op.value] = txn.name
        self.committed = self._committed()
        self.longest = self._longest()

    def findings(self) -> Iterator[Finding]:
        for txn in self.committed.values():
            yield from self._own_writes(txn)
            for read in _reads(txn):
                yield from self._values(txn, read)
        yield from self._orders()
        yield from self._lost_updates()
        yield from self._lost_appends()
        yield from self._circles()

    # -- what counts -------------------------------------------------------------------------------

    def _committed(self) -> dict[str, Transaction]:
        """Those that were told so, and those that one of them has read from."""
        found = {t.name: t for t in self.all.values() if t.outcome is Outcome.COMMITTED}
        new = list(found.values())
        while new:
            seen = {self.writer.get((r.key, v)) for t in new for r in _reads(t) for v in r.values}
            new = [
                self.all[name]
                for name in seen - found.keys()
                if name is not None and self.all[name].outcome is Outcome.UNKNOWN
            ]
            found |= {t.name: t for t in new}
        return found

    def _longest(self) -> dict[str, tuple[int, ...]]:
        """What is known of the final order of each list."""
        found: dict[str, tuple[int, ...]] = {}
        for txn in self.committed.values():
            for read in _reads(txn):
                known = found.get(read.key, ())
                found[read.key] = max(known, read.values, key=len)
        return found

    # -- one read ----------------------------------------------------------------------------------

    def _own_writes(self, txn: Transaction) -> Iterator[Finding]:
        known: dict[str, tuple[int, ...]] = {}
        appended: dict[str, tuple[int, ...]] = defaultdict(tuple)
        for op in txn.ops:
            if isinstance(op, Append):
                appended[op.key] += (op.value,)
                if op.key in known:
                    known[op.key] += (op.value,)
                continue
            own = appended[op.key]
            expected = known.get(op.key, (*op.values[: len(op.values) - len(own)], *own))
            if op.values != expected:
                yield Finding(Anomaly.OWN_WRITES, f"{txn.name}: {op}, not {expected}")
            known[op.key] = op.values

    def _values(self, txn: Transaction, read: Read) -> Iterator[Finding]:
        where = f"{txn.name}: {read}"
        if len(set(read.values)) < len(read.values):
            yield Finding(Anomaly.DOUBLED, where)
        writers = Counter(self.writer.get((read.key, v)) for v in set(read.values))
        for writer, count in writers.items():
            if writer is None:
                yield Finding(Anomaly.UNWRITTEN, where)
            elif self.all[writer].outcome is Outcome.ABORTED and writer != txn.name:
                yield Finding(Anomaly.ABORTED_READ, f"{where} of {writer}")
            elif writer != txn.name and count < len(_appends(self.all[writer], read.key)):
                yield Finding(Anomaly.INTERMEDIATE_READ, f"{where} of {writer}")

    # -- several reads -----------------------------------------------------------------------------

    def _orders(self) -> Iterator[Finding]:
        for txn in self.committed.values():
            for read in _reads(txn):
                longest = self.longest[read.key]
                if longest[: len(read.values)] != read.values:
                    yield Finding(Anomaly.ORDER, f"{txn.name}: {read}, elsewhere {longest}")

    def _lost_updates(self) -> Iterator[Finding]:
        bases: dict[tuple[str, tuple[int, ...]], list[str]] = defaultdict(list)
        for txn in self.committed.values():
            for read in _first_reads(txn):
                if _appends(txn, read.key):
                    bases[read.key, read.values].append(txn.name)
        for base, names in bases.items():
            if len(names) > 1:
                yield Finding(Anomaly.LOST_UPDATE, f"{base}: {names}")

    def _lost_appends(self) -> Iterator[Finding]:
        for txn in self.committed.values():
            for op in txn.ops:
                if isinstance(op, Append) and txn.end_ns is not None:
                    for reader in self._blind(op, txn.end_ns):
                        yield Finding(Anomaly.LOST_APPEND, f"{txn.name}: {op}, for {reader}")

    def _blind(self, append: Append, end_ns: int) -> Iterator[str]:
        for txn in self.committed.values():
            if txn.begin_ns is not None and txn.begin_ns > end_ns:
                lists = [r.values for r in _reads(txn) if r.key == append.key]
                if any(append.value not in values for values in lists):
                    yield txn.name

    # -- circles -----------------------------------------------------------------------------------

    def _circles(self) -> Iterator[Finding]:
        edges = set(self._dependencies())
        writes = {e for e in edges if e[1] is Edge.WRITE}
        reads = {e for e in edges if e[1] is Edge.READ}
        times = set(self._real_time())
        yield from _circles_through(writes, Edge.WRITE, Anomaly.DIRTY_WRITE)
        yield from _circles_through(writes | reads, Edge.READ, Anomaly.CIRCULAR_READ)
        yield from _circles_through(edges, Edge.ANTI, Anomaly.READ_SKEW)
        yield from _circles_through(edges | times, Edge.TIME, Anomaly.STALE_READ)

    def _dependencies(self) -> Iterator[tuple[str, Edge, str]]:
        readers: dict[str, list[tuple[str, tuple[int, ...]]]] = defaultdict(list)
        for txn in self.committed.values():
            for read in _first_reads(txn):
                readers[read.key].append((txn.name, read.values))
        for key in {key for key, _ in self.writer}:
            order, unread = self._version_order(key)
            for before, after in pairwise(order):
                yield from _edge(before, Edge.WRITE, after)
            for after in unread:
                yield from _edge(order[-1], Edge.WRITE, after) if order else ()
            for reader, values in readers[key]:
                yield from self._of_read(reader, Read(key, values), order, unread)

    def _version_order(self, key: str) -> tuple[list[str], list[str]]:
        """Who made each version, one after the other; and those after them that nobody has read."""
        found = [self.writer.get((key, v)) for v in self.longest.get(key, ())]
        order = [name for name, _ in groupby(found) if name in self.committed]
        unread = [n for n, t in self.committed.items() if n not in order and _appends(t, key)]
        return order, unread

    def _of_read(
        self, reader: str, read: Read, order: Sequence[str], unread: Sequence[str]
    ) -> Iterator[tuple[str, Edge, str]]:
        seen = {self.writer.get((read.key, v)) for v in read.values}
        for writer in order:
            if writer in seen:
                yield from _edge(writer, Edge.READ, reader)
        later = [writer for writer in order if writer not in seen | {reader}]
        for writer in later[:1] or unread:
            yield from _edge(reader, Edge.ANTI, writer)

    def _real_time(self) -> Iterator[tuple[str, Edge, str]]:
        """An end comes before the beginnings after it, by way of a mark for each end."""
        txns = [t for t in self.committed.values() if t.begin_ns is not None]
        moments = [(t.begin_ns, 1, t.name) for t in txns]
        moments += [(t.end_ns, 0, t.name) for t in txns if t.end_ns is not None]
        mark: str | None = None
        for time_ns, is_begin, name in sorted(moments):
            if is_begin:
                if mark is not None:
                    yield mark, Edge.TIME, name
                continue
            previous, mark = mark, f"@{time_ns} {name}"
            yield name, Edge.TIME, mark
            if previous is not None:
                yield previous, Edge.TIME, mark


def _edge(before: str, kind: Edge, after: str) -> Iterator[tuple[str, Edge, str]]:
    if before != after:
        yield before, kind, after


def _reads(txn: Transaction) -> Iterator[Read]:
    return (op for op in txn.ops if isinstance(op, Read))


def _appends(txn: Transaction, key: str) -> list[int]:
    return [op.value for op in txn.ops if isinstance(op, Append) and op.key == key]


def _first_reads(txn: Transaction) -> Iterator[Read]:
    """What the snapshot showed of each list that was read, without the own appends."""
    known: set[str] = set()
    for read in _reads(txn):
        if read.key not in known:
            known.add(read.key)
            own = set(_appends(txn, read.key))
            yield Read(read.key, tuple(v for v in read.values if v not in own))


# -- graphs ----------------------------------------------------------------------------------------


def _circles_through(
    edges: Iterable[tuple[str, Edge, str]], kind: Edge, anomaly: Anomaly
) -> Iterator[Finding]:
    """A circle with an edge of the kind in it, for each group of nodes that has one.

    No two anti-dependencies follow each other in it: such circles are write skew.
    """
    graph: dict[Node, list[tuple[Edge, Node]]] = defaultdict(list)
    for before, edge, after in edges:
        if edge is not Edge.ANTI:
            graph[before, True].append((edge, (after, False)))
            graph[before, False].append((edge, (after, False)))
        else:
            graph[before, False].append((edge, (after, True)))
    group = _groups(graph)
    done: set[int] = set()
    for before, nexts in list(graph.items()):
        for edge, after in nexts:
            if edge is kind and group[before] == group.get(after) not in done:
                done.add(group[before])
                circle = [edge, *(e for e, _ in _path(graph, after, before))]
                names = [before, after, *(n for _, n in _path(graph, after, before))]
                yield Finding(_named(anomaly, circle), _drawn(names, circle))


def _named(anomaly: Anomaly, circle: Sequence[Edge]) -> Anomaly:
    several = circle.count(Edge.ANTI) > 1 and Edge.TIME not in circle
    return Anomaly.SNAPSHOT if several else anomaly


def _drawn(nodes: Sequence[Node], circle: Sequence[Edge]) -> str:
    steps = [f" -{e.value}-> {n[0]}" for e, n in zip(circle, nodes[1:], strict=True)]
    return nodes[0][0] + "".join(steps)


def _path(
    graph: dict[Node, list[tuple[Edge, Node]]], start: Node, goal: Node
) -> list[tuple[Edge, Node]]:
    """A shortest way; both are in one group."""
    came: dict[Node, tuple[Edge, Node] | None] = {start: None}
    queue = deque([start])
    while goal not in came:
        node = queue.popleft()
        for edge, after in graph.get(node, ()):
            if after not in came:
                came[after] = (edge, node)
                queue.append(after)
    steps: list[tuple[Edge, Node]] = []
    node = goal
    while (step := came[node]) is not None:
        steps.append((step[0], node))
        node = step[1]
    return steps[::-1]


def _groups(graph: dict[Node, list[tuple[Edge, Node]]]) -> dict[Node, int]:
    """The strongly connected components (Kosaraju), without recursion."""
    nodes = {*graph, *(after for nexts in graph.values() for _, after in nexts)}
    backwards: dict[Node, list[Node]] = defaultdict(list)
    for before, nexts in graph.items():
        for _, after in nexts:
            backwards[after].append(before)
    order: list[Node] = []
    seen: set[Node] = set()
    for root in sorted(nodes):
        stack = [] if root in seen else [(root, iter(graph.get(root, ())))]
        seen.add(root)
        while stack:
            node, nexts = stack[-1]
            after = next((a for _, a in nexts if a not in seen), None)
            if after is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(after)
                stack.append((after, iter(graph.get(after, ()))))
    group: dict[Node, int] = {}
    for number, root in enumerate(reversed(order)):
        todo = [] if root in group else [root]
        while todo:
            node = todo.pop()
            if node not in group:
                group[node] = number
                todo += backwards[node]
    return group
