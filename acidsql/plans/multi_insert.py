"""The plan of a multi-insert: one FROM, and several INSERTs that read it."""

from __future__ import annotations

from typing import Literal

from acidsql.errors import UnsupportedStatementError
from acidsql.plans.insert import InsertPlan
from acidsql.plans.node import Node
from acidsql.plans.shared_source import SharedSource


class MultiInsertPlan(Node):
    """Several inserts, in the order of the text. Each writes under its own statement id.

    The legs read one snapshot, and none reads what another one writes. The rows of a leg may name
    ``sources``. Legs into one table fill different places if one of them overwrites.
    """

    kind: Literal["multi_insert"] = "multi_insert"
    sources: tuple[SharedSource, ...]
    legs: tuple[InsertPlan, ...]


def overlap(place: str) -> UnsupportedStatementError:
    """The error for two INSERTs of one statement that fill a place which one of them overwrites."""
    return UnsupportedStatementError(
        f"several INSERTs of the statement fill {place}, and one of them overwrites it",
        detail="INSERT OVERWRITE would hide the rows of the others.",
        hint="Write one INSERT OVERWRITE of a UNION ALL, or one INSERT after the other.",
        code=10087,
    )
