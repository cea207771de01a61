"""The isolation specs over a real metastore: sessions behave as on stores of our own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

import acidsql
from acidsql.backends.metastore.locks import waiting_for
from acidsql.session.session import Session
from acidsql.txn.deadlock import losers
from tests.integration.hive.one_metastore import compacting
from tests.integration.hive.process import Hive
from tests.isolation.spec import Permutation, Spec
from tests.isolation.test_isolation import IMPATIENT, SPECS, Stage

pytestmark = pytest.mark.hive

OTHERWISE: dict[str | tuple[str, str], tuple[int, ...]] = {
    # Shared writers wait for each other in Hive 3.1.
    "shared_writers": (4,),
    # Hive 3 knows no rebalance.
    "rebalance": (4,),
    # A metastore has every request wait behind those before it, also one of a transaction that
    # they wait for: here it is a circle, and the DROP gives way.
    ("autocommit", "b1 i1 drop2 i1 r1 u1 c1 r3"): (),
    # A metastore cannot replace a table in one step.
    ("remade", "b1 o2 r1 i1 w1 a1 r1 rc1"): (),
    ("remade", "b1 e2 r1 a1 r1"): (),
    ("remade", "g3 u3 o2 rt4 i1 rt4 c3 rc1"): (),
    ("waiting_definitions", "b1 o1 i2 r4 o3 r4 c1 r3"): (),
    # Hive 4 refuses a second compaction until the metastore's cleaner has come.
    ("compaction", "b1 u2 minor2 major2 r1 u1 c1 r2"): (3,),
}
"""Specs, and permutations of them, that do not run on both Hives, with those that they run on."""
UPDATED_AFTERWARDS = {9: "three rt3: (1, 11, 1) (2, 2, 1)"}
"""A metastore keeps no place in the queue: the UPDATE begins anew behind the EXCHANGE, and finds no
row.
"""
DIFFERENCES: dict[int, dict[tuple[str, str], dict[int, str]]] = {
    3: {
        # It cannot be asked who has won: a block learns it at its end,
        ("anomalies", "b1 b2 rt1 rt2 ut1 c1 ut2 c2 a2 rt1"): {
            6: "two ut2: ok",
            7: "two c2: WriteConflictError: Aborting [txnid:N] due to a write conflict on "
            "default/t committed by [txnid:N] u/u",
        },
        ("partitions", "b1 b2 u1 c1 same2 r3"): {4: "two same2: ok"},
        ("upserts", "b1 b2 t1 c1 t2 c2 rt2"): {
            4: "two t2: ok",
            5: "two c2: WriteConflictError: Aborting [txnid:N] due to a write conflict on "
            "default/t committed by [txnid:N] u/u",
        },
        ("upserts", "b1 b2 p1 c1 p2 c2 rp2"): {
            4: "two p2: ok",
            5: "two c2: WriteConflictError: Aborting [txnid:N] due to a write conflict on "
            "default/p/d=1 committed by [txnid:N] u/u",
        },
        ("upserts", "b1 b2 p1 c1 o2 c2 rp2"): {
            4: "two o2: ok",
            5: "two c2: ok",
            6: "two rp2: (1, 1, 1) (7, 10, 1) (8, 20, 2)",
        },
        ("compaction", "b1 u2 minor2 major2 r1 u1 c1 r2"): {
            5: "one u1: ok",
            6: "one c1: WriteConflictError: Aborting [txnid:N] due to a write conflict on default/t"
            " committed by [txnid:N] u/u",
        },
        # and who waited begins anew for an insert, too: here behind another one.
        ("autocommit", "b1 i1 o2 i3 c1 r3"): {7: "three r3: (1, 20) (2, 40) (4, 80)"},
        ("waiting_definitions", "b1 u1 u2 r4 x3 r4 c1 rt3 rs3"): UPDATED_AFTERWARDS,
    },
    4: {
        ("waiting_definitions", "b1 u1 u2 r4 x3 r4 c1 rt3 rs3"): UPDATED_AFTERWARDS,
        # It does not tell in which partition somebody has won before there are rows.
        ("partitions", "b1 b2 r1 u1 c1 other2 c2 r3"): {
            5: "two other2: WriteConflictError: transaction N cannot write to table default.t any"
            " more: transaction N changed what it works on after it had begun",
            6: "two c2: TxnAbortedError: transaction N was rolled back",
            7: "three r3: (11, 1) (20, 2)",
        },
    },
}
"""Lines that are others with one of the Hives."""


def versions_of(spec: Spec, permutation: Permutation) -> tuple[int, ...]:
    """The Hives that it runs on."""
    name = spec.path.stem
    both = OTHERWISE.get(name, (3, 4))
    return OTHERWISE.get((name, " ".join(permutation.steps)), both)


def cases() -> Iterator[Any]:
    """Every permutation; two in three are `thorough`, as all run on the other stores, too."""
    numbers = itertools.count()
    for spec in SPECS:
        for permutation in spec.permutations:
            if versions := versions_of(spec, permutation):
                marks = (pytest.mark.thorough,) if next(numbers) % 3 else ()
                name = f"{spec.path.stem}:{permutation.line}"
                yield pytest.param(spec, permutation, versions, id=name, marks=marks)


_numbers = itertools.count(1)


@pytest.mark.parametrize(("spec", "permutation", "versions"), list(cases()))
def test_permutation(
    spec: Spec, permutation: Permutation, versions: tuple[int, ...], hive: Hive, spark: Any
) -> None:
    assert hive.version in versions
    with compacting(hive), LiveStage(spec, hive, spark) as stage:
        happened = list(stage.play(permutation))
    expected = list(permutation.expected)
    others = DIFFERENCES[hive.version].get((spec.path.stem, " ".join(permutation.steps)), {})
    for index, line in others.items():
        expected[index] = line
    assert happened == [re.sub(r"default([./])", rf"{stage.database}\1", x) for x in expected]


class LiveStage(Stage):
    """The sessions of a spec over Hive's metastore, in a database of their own."""

    def __init__(self, spec: Spec, hive: Hive, spark: Any) -> None:
        url = hive.metastore_url
        super().__init__(spec, hive.warehouse, spark, url, None)
        self.database = f"spec{next(_numbers)}"
        hive.run(f"CREATE DATABASE {self.database}")

    def _session(self, user: str) -> Session:
        session = acidsql.connect(
            str(self.warehouse), metastore=self.url, spark=self.spark, user=user,
            config={**IMPATIENT, **self.spec.config},
        )  # fmt: skip
        session.execute(f"USE {self.database}")
        return session

    def _is_blocked(self, session: str) -> bool:
        """Whether a lock that is there still was found to be in the way."""
        if self.waiting[session].done():
            return False
        locks = self.store.show_locks()
        ours = {lock.txn_id for lock in locks if lock.user == session}
        waits_for = waiting_for(locks)
        return not ours.isdisjoint(waits_for) and not losers(waits_for)
