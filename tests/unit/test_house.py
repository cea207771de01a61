"""The rooms of the package: docs/house.dot draws what the imports are."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "acidsql"
MODULES_MAX = 7
"""How many modules may lie beside the packages."""

Arrows = dict[str, set[str]]


@cache
def imported() -> Arrows:
    """Which room imports which, by name; a module beside the packages is a room of its own."""
    arrows: Arrows = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        others = re.findall(r"^ *from acidsql\.(\w+)", path.read_text(), re.MULTILINE)
        arrows[room] |= set(others) - {room}
    return arrows


def reached(arrows: Arrows, room: str) -> set[str]:
    """Every room below one."""
    found: set[str] = set()
    waiting = [room]
    while waiting:
        new = arrows.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def drawn() -> set[tuple[str, str]]:
    text = (PROJECT / "docs" / "house.dot").read_text()
    return set(re.findall(r"^ +(\w+) -> (\w+);$", text, re.MULTILINE))


def test_no_room_is_below_itself() -> None:
    arrows = imported()
    assert [room for room in arrows if room in reached(arrows, room)] == []


def test_the_picture_shows_the_arrows_that_follow_from_no_others() -> None:
    arrows = imported()
    expected = {
        (room, other)
        for room, others in arrows.items()
        for other in others
        if not any(other in reached(arrows, between) for between in others - {other})
    }
    assert drawn() == expected


def test_few_modules_lie_beside_the_packages() -> None:
    modules = [p.name for p in PACKAGE.glob("*.py")]
    assert len(modules) <= MODULES_MAX, modules
