"""Random changes, by acidsql and Hive in turn, against a dict."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from tests.integration.hive.shared import Shared

pytestmark = pytest.mark.hive

ROUNDS = [
    pytest.param(3, id="short"),
    pytest.param(10, id="long", marks=pytest.mark.thorough),
]
TABLES = {
    "bucketed": "CREATE TABLE t (id int, v int, p int) CLUSTERED BY (id) INTO 2 BUCKETS",
    "partitioned": "CREATE TABLE t (id int, v int) PARTITIONED BY (p int)",
}


@dataclass
class Model:
    """What the table must hold: id → (value, partition); and SQL that both understand."""

    chance: random.Random
    partitioned: bool = True
    rows: dict[int, tuple[int, int]] = field(default_factory=dict)
    next_id: int = 0

    def change(self) -> str:
        """Some change, applied to the rows, as a statement."""
        kinds = [self.insert, self.update, self.delete, self.merge, self.overwrite]
        weights = [1, 3, 1, 3, 1] if self.rows else [1, 0, 0, 0, 0]
        return self.chance.choices(kinds, weights)[0]()

    def insert(self) -> str:
        new = {self._id(): (self._value(), self.chance.randrange(3)) for _ in range(12)}
        self.rows |= new
        return "INSERT INTO t VALUES " + ", ".join(f"({i}, {v}, {p})" for i, (v, p) in new.items())

    def update(self) -> str:
        divisor, rest, value = self._class()
        for i, (v, p) in self.rows.items():
            if i % divisor == rest:
                self.rows[i] = (v + value, p)
        return f"UPDATE t SET v = v + {value} WHERE id % {divisor} = {rest}"

    def delete(self) -> str:
        divisor, rest, _ = self._class()
        self.rows = {i: row for i, row in self.rows.items() if i % divisor != rest}
        return f"DELETE FROM t WHERE id % {divisor} = {rest}"

    def merge(self) -> str:
        known = self.chance.sample(sorted(self.rows), min(6, len(self.rows)))
        source = {i: self._value() for i in [*known, self._id(), self._id()]}
        for i, value in source.items():
            if i not in self.rows:
                self.rows[i] = (value, i % 3)
            elif value % 2:
                del self.rows[i]
            else:
                self.rows[i] = (value, self.rows[i][1])
        lines = " UNION ALL ".join(f"SELECT {i} AS id, {v} AS v" for i, v in source.items())
        return (
            f"MERGE INTO t USING ({lines}) s ON t.id = s.id"
            " WHEN MATCHED AND s.v % 2 = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v"
            " WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v, s.id % 3)"
        )

    def overwrite(self) -> str:
        divisor, rest, value = self._class()
        new = {i: (v + value, p) for i, (v, p) in self.rows.items() if i % divisor != rest}
        if not new:  # Hive 3 writes no base then, and the old rows stay
            return self.insert()
        replaced = {p for _, p in new.values()} if self.partitioned else {0, 1, 2}
        self.rows = new | {i: row for i, row in self.rows.items() if row[1] not in replaced}
        return (
            f"INSERT OVERWRITE TABLE t SELECT id, v + {value}, p FROM t"
            f" WHERE id % {divisor} <> {rest}"
        )

    def _id(self) -> int:
        self.next_id += 1
        return self.next_id

    def _value(self) -> int:
        return self.chance.randrange(1000)

    def _class(self) -> tuple[int, int, int]:
        divisor = self.chance.randrange(2, 6)
        return divisor, self.chance.randrange(divisor), self._value()


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("kind", TABLES)
def test_rounds(shared: Shared, kind: str, rounds: int) -> None:
    take_turns(shared, kind, TABLES[kind], random.Random(1999), rounds)


def take_turns(shared: Shared, kind: str, create: str, chance: random.Random, rounds: int) -> None:
    """So many rounds, the table looked at after each and after compactions between them."""
    shared.both(f"{create} STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
    model = Model(chance, kind == "partitioned")
    for round_ in range(rounds):
        who = shared.acidsql if round_ % 2 == 0 else shared.theirs
        who(model.change())
        check(shared, model)
        if chance.random() < 0.5:
            compact(shared, kind, chance)
            check(shared, model)


def compact(shared: Shared, kind: str, chance: random.Random) -> None:
    """One of the two compacts, a partition if there are any, and cleans up."""
    who = chance.choice([shared.acidsql, shared.theirs])
    where = f" PARTITION (p = {chance.randrange(3)})" if kind == "partitioned" else ""
    who(f"ALTER TABLE t{where} COMPACT '{chance.choice(['minor', 'major'])}'")
    # Hive 4 refuses the next compaction until this one is cleaned up after (error 10432).
    who("clean")


def check(shared: Shared, model: Model) -> None:
    rows = sorted(tuple(map(int, row[3:])) for row in shared.rows("t"))
    assert rows == sorted((i, v, p) for i, (v, p) in model.rows.items())
