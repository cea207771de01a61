"""acidsql/engines/spark/row_id_parts.py: which parts are read together, and which too often."""

from __future__ import annotations

from acidsql.engines.spark.row_id_parts import ROWS_MAX, Part, are_mixed, side_by_side

STRETCH = (0, 1, 2)


def part(name: str, low: int, high: int, rows: int = 1) -> Part:
    return Part(name, rows, 1, {STRETCH: (low, high)})


def test_parts_that_overlap_come_together() -> None:
    bounds = {"a": (0, 9), "b": (5, 12), "c": (12, 20), "d": (21, 30), "e": (2, 3)}
    parts = [part(name, *both) for name, both in bounds.items()]
    found = [[each.path for each in some] for some in side_by_side(STRETCH, parts)]
    assert found == [["a", "e", "b", "c"], ["d"]]


def test_parts_one_after_the_other_are_not_mixed() -> None:
    parts = [part(str(n), 10 * n, 10 * n + 9, ROWS_MAX) for n in range(500)]
    assert not are_mixed(parts)
    files = [Part(str(n), 9, 9, {(0, n, m): (0, 9) for m in range(40)}) for n in range(50)]
    assert not are_mixed(files)


def test_parts_that_a_shuffle_has_mixed() -> None:
    places = {(partition, 1, 2): (0, 99) for partition in range(50)}
    assert are_mixed([Part(str(n), 9, 9, places) for n in range(20)])
    assert not are_mixed([Part("0", 9, 9, places)])


def test_parts_of_one_place_that_are_too_many_to_be_held_at_once() -> None:
    assert are_mixed([part(str(n), 0, 99, ROWS_MAX) for n in range(5)])
    assert not are_mixed([part(str(n), 0, 99, 1000) for n in range(5)])
