"""What the settings of a session let a statement do, as far as the planner decides it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that the planner asks for. Their defaults are what Hive allows.

    ``row_movement``: UPDATE and MERGE may set partition and bucket columns, which moves rows.
    """

    row_movement: bool = False
