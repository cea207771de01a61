"""ANALYZE TABLE."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.statements.fragment import Identifier, TableRef
from acidsql.statements.insert import PartitionValue


@dataclass(frozen=True, slots=True)
class Analyze:
    """ANALYZE TABLE ``target`` [PARTITION (…)] COMPUTE STATISTICS [FOR COLUMNS … | NOSCAN].

    A column of ``partition`` without a value takes all values. ``columns`` are named behind FOR
    COLUMNS. ``all_columns``: FOR COLUMNS without names, or FOR ALL COLUMNS.
    """

    target: TableRef
    partition: tuple[PartitionValue, ...] = ()
    columns: tuple[Identifier, ...] = ()
    all_columns: bool = False
    noscan: bool = False
