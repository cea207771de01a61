"""A footer's types as columns."""

from __future__ import annotations

import pytest

from acidsql.errors import CorruptFileError
from acidsql.orc.footer import FileTail, OrcType
from acidsql.orc.types import file_columns

LONG, STRING, STRUCT = OrcType(4), OrcType(7), 12
EVENTS = ("operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row")


def tail(*types: OrcType) -> FileTail:
    names = types[0].names if types else ()
    return FileTail(0, 0, (), {}, names, "none", 0, types=types)


def test_the_columns_of_plain_rows() -> None:
    (a, b) = file_columns(tail(OrcType(STRUCT, (1, 2), ("a", "B")), LONG, STRING))
    assert (a.name, str(a.type), b.name, str(b.type)) == ("a", "bigint", "B", "string")


def test_the_columns_of_events_are_those_of_their_row() -> None:
    events = OrcType(STRUCT, (1, 2, 3, 4, 5, 6), EVENTS)
    row = OrcType(STRUCT, (7,), ("a",))
    (a,) = file_columns(tail(events, *[LONG] * 5, row, STRING))
    assert (a.name, str(a.type)) == ("a", "string")


@pytest.mark.parametrize(
    "types",
    [
        (),
        (LONG,),
        (OrcType(STRUCT, (1,), ("a",)),),
        (OrcType(STRUCT, (0,), ("a",)),),
        (OrcType(STRUCT, (1, 2, 3, 4, 5, 6), EVENTS), *[LONG] * 6),
    ],
    ids=["none", "no struct", "child is missing", "inside itself", "row is no struct"],
)
def test_types_that_make_no_sense(types: tuple[OrcType, ...]) -> None:
    with pytest.raises(CorruptFileError, match=r'"some\.orc" is not a whole ORC file'):
        file_columns(tail(*types), "some.orc")
