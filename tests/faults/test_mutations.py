"""Mutated ORC files: the right rows, or an error of ours; else CHECK TABLE says so.

What nobody can find is a value that is another one within its column's statistics: ORC has no
checksums. Tables have no texts, over which pyarrow may crash when they are damaged (see
test_damage.py). A mutant is made from its seed alone, so that each can be looked at again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import acidsql
from acidsql.errors import AcidSqlError
from acidsql.session.session import Session

SEEDS = 500
SHORT, SHARE = 4, 25
"""How many there are in `make test`, and in each test of the longer form."""
TABLES = {
    # Its footers stay unread.
    "numbers": (
        "k int, v bigint, p decimal(12,2), x double",
        "({k}, {k} * 1000003, {k}.25, {k}.5)",
    ),
    # Footers say whether days are of those that the hybrid calendar skips.
    "times": (
        "k int, d date, t timestamp",
        "({k}, DATE'2024-02-{day}', TIMESTAMP'2024-02-{day} 1:2:3')",
    ),
}
CODECS = ("none", "zlib", "snappy")
KINDS = list(product(TABLES, CODECS))
MISPLACED = "of stripe 0, the streams of"
"""What CHECK TABLE says of a stripe whose data Java's reader takes from another place.

The reader does not see the end of such data: it counts down from there through all numbers of 32
bits, again and again, which takes hours.
"""
Row = tuple[Any, ...]
RIGHT, ERROR, FOUND, WITHIN = "right rows", "an error", "CHECK TABLE", "within the statistics"


@dataclass(frozen=True)
class Victim:
    """A table of which files are mutated, and its rows by row id."""

    name: str
    files: tuple[Path, ...]
    rows: dict[Any, Row]


Victims = Callable[[str, str], Victim]


def rows_of(session: Session, name: str) -> list[tuple[Any, Row]]:
    found = session.execute(f"SELECT row__id, * FROM {name}").fetchall()
    return [(tuple(row[0]), tuple(row[1:])) for row in found]


@pytest.fixture(scope="module")
def mutable(
    spark: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Session, Victims]]:
    """A session, and the table of each kind and codec, which is made when a mutant needs it."""
    warehouse = tmp_path_factory.mktemp("mutations")
    with acidsql.connect(warehouse, metastore="memory:", spark=spark) as session:
        yield session, cache(lambda kind, codec: victim(session, warehouse, kind, codec))


def victim(session: Session, warehouse: Path, kind: str, codec: str) -> Victim:
    name, (columns, row) = f"{kind}_{codec}", TABLES[kind]
    session.execute(
        f"CREATE TABLE {name} ({columns}) STORED AS ORC"
        f" TBLPROPERTIES ('transactional' = 'true', 'orc.compress' = '{codec}')"
    )
    values = ", ".join(row.format(k=k, day=f"{k % 28 + 1:02d}") for k in range(60))
    session.execute(f"INSERT INTO {name} VALUES {values}")
    session.execute(f"DELETE FROM {name} WHERE k % 7 = 3")
    files = tuple(sorted((warehouse / name).rglob("bucket_*")))
    assert [f.parent.name.partition("_0")[0] for f in files] == ["delete_delta", "delta"]
    rows = dict(rows_of(session, name))
    assert len(rows) == 51
    return Victim(name, files, rows)


def mutated(content: bytes, r: random.Random) -> bytes:
    """The bytes with one flipped bit before the footer, or with one to three accidents anywhere."""
    result = bytearray(content)
    if r.random() < 0.5:
        result[r.randrange(max(1, len(result) - 700))] ^= 1 << r.randrange(8)
        return bytes(result)
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        # More at the end, where the footer is: without it nothing can be read.
        at = r.randrange(len(result))
        if r.random() < 0.5:
            at = len(result) - 1 - r.randrange(min(len(result), 700))
        size = r.choice((1, 2, 4, 16, 64))
        match r.randrange(7):
            case 0 | 1 | 2:
                result[at] ^= 1 << r.randrange(8)
            case 3:
                result[at : at + size] = r.randbytes(len(result[at : at + size]))
            case 4:
                result[at : at + size] = bytes(len(result[at : at + size]))
            case 5:
                del result[at : at + size]
            case 6:
                result[at:at] = r.randbytes(size)
        if not result:
            return b""
    return bytes(result)


def test_mutants_give_no_wrong_rows(mutable: tuple[Session, Victims]) -> None:
    check_mutants(*mutable, range(SHORT))


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(SHORT, SEEDS, SHARE))
def test_nor_do_others(mutable: tuple[Session, Victims], first: int) -> None:
    check_mutants(*mutable, range(first, min(first + SHARE, SEEDS)))


def check_mutants(session: Session, victims: Victims, seeds: range) -> None:
    outcomes = Counter(outcome(session, victims, seed) for seed in seeds)
    # Else the mutants, or what looks at them, are no good.
    assert outcomes[ERROR], outcomes
    assert outcomes[RIGHT] + outcomes[FOUND] + outcomes[WITHIN], outcomes


def outcome(session: Session, victims: Victims, seed: int) -> str:
    """What became of a mutant; AssertionError with its seed for wrong rows that nobody finds."""
    r = random.Random(seed)
    chosen = victims(*r.choice(KINDS))
    file = r.choice(chosen.files)
    whole = file.read_bytes()
    session._engine._kept.clear()  # it keeps what is deleted, since files do not change
    try:
        file.write_bytes(mutated(whole, r))
        problems = session.execute(f"CHECK TABLE {chosen.name}").fetchall()
        if any(detail.startswith(MISPLACED) for *_, detail in problems):
            return FOUND
        try:
            found = rows_of(session, chosen.name)
        except AcidSqlError:
            return ERROR
    finally:
        file.write_bytes(whole)
        session._engine._kept.clear()
    if len(found) == len(chosen.rows) and dict(found) == chosen.rows:
        return RIGHT
    if problems:
        return FOUND
    assert is_within_statistics(found, chosen.rows), f"mutant {seed} of {chosen.name}"
    return WITHIN


def is_within_statistics(found: list[tuple[Any, Row]], right: dict[Any, Row]) -> bool:
    """Whether the row ids are the right ones, and no value is beyond those of its column."""
    if sorted(row_id for row_id, _ in found) != sorted(right):
        return False
    bounds = [(min(column), max(column)) for column in zip(*right.values(), strict=True)]
    return all(
        value == true or (value is not None and low <= value <= high)
        for row_id, row in found
        for value, true, (low, high) in zip(row, right[row_id], bounds, strict=True)
    )
