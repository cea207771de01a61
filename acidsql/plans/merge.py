"""The plan of a MERGE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.ids import StatementId
from acidsql.model.names import TableName
from acidsql.model.predicate import Predicate
from acidsql.plans.node import Node
from acidsql.plans.shared_source import SharedSource
from acidsql.plans.sql_text import SqlText
from acidsql.plans.update import SetColumn


class Leg(Node):
    """What one clause of a MERGE writes, under a statement id of its own.

    With ``asks_target``, the condition compares columns of the target with literals, and says
    nothing else: it may be asked of any row of the target. ``asks_source`` are the columns of the
    source that it asks for, in lower case; None if it asks for anything else, or if there is none.
    """

    statement_id: StatementId
    condition: SqlText | None
    asks_target: bool = False
    asks_source: tuple[str, ...] | None = None


class UpdateLeg(Leg):
    """Update the rows for which ``condition`` holds: a delete delta and a delta.

    With ``moves`` the new versions are placed as the rows of an INSERT are.
    """

    kind: Literal["update"] = "update"
    assignments: tuple[SetColumn, ...]
    moves: bool = False


class DeleteLeg(Leg):
    """Delete the rows for which ``condition`` holds: a delete delta."""

    kind: Literal["delete"] = "delete"


class InsertLeg(Leg):
    """Insert the source rows without a match for which ``condition`` holds: a delta."""

    kind: Literal["insert"] = "insert"
    values: tuple[SetColumn, ...]


ChangingLeg = Annotated[UpdateLeg | DeleteLeg, Field(discriminator="kind")]


class KeyPair(Node):
    """An equality of the ON condition between a target column and a source column."""

    target: str
    source: str


class MergePlan(Node):
    """Join one scan of the target with the source. Each leg writes under its own statement id.

    ``matched`` has the legs for pairs of a target row and a source row, ``by_source`` those for
    target rows without a source row, and ``not_matched`` those for source rows without a target
    row. Each has the order of the text: the first leg whose condition holds acts on a row.
    ``source`` is a query, whose columns the expressions know under ``source_alias``. With ``keys``,
    the least and the greatest source key prune the scan of the target, unless there are legs
    ``by_source``. With ``on_is_keys``, ``on`` compares the keys and says nothing else.
    ``hidden`` are the hidden columns of the target that the texts may mention.
    ``common`` are the expressions of a WITH, which all texts may read.
    ``written_as`` is UPDATE or DELETE if the text is UPDATE … FROM or DELETE … USING.
    ``source_columns`` are the names that the source's columns must have when the plan is carried
    out, in lower case; None if that does not matter.
    """

    kind: Literal["merge"] = "merge"
    table: TableName
    alias: str
    source: SqlText
    source_alias: str
    on: SqlText
    matched: tuple[ChangingLeg, ...]
    not_matched: tuple[InsertLeg, ...]
    by_source: tuple[ChangingLeg, ...] = ()
    keys: tuple[KeyPair, ...] = ()
    on_is_keys: bool = False
    predicates: tuple[Predicate, ...] = ()
    hidden: tuple[HiddenColumn, ...] = ()
    common: tuple[SharedSource, ...] = ()
    written_as: str | None = None
    source_columns: tuple[str, ...] | None = None

    @property
    def changing(self) -> tuple[UpdateLeg | DeleteLeg, ...]:
        """The legs that change rows of the target."""
        return (*self.matched, *self.by_source)

    @property
    def moves(self) -> bool:
        """Whether a leg moves rows to other partitions or buckets."""
        return any(isinstance(leg, UpdateLeg) and leg.moves for leg in self.changing)

    @property
    def inserts(self) -> bool:
        """Whether rows may come to any partition."""
        return bool(self.not_matched) or self.moves

    @property
    def legs(self) -> tuple[UpdateLeg | DeleteLeg | InsertLeg, ...]:
        """All legs."""
        return (*self.changing, *self.not_matched)

    def metrics(self, rows: Mapping[StatementId, int]) -> dict[str, int]:
        """Delta Lake's counters of a MERGE, from the rows that each leg has changed."""
        kinds = {
            ("MatchedUpdated", UpdateLeg): self.matched,
            ("MatchedDeleted", DeleteLeg): self.matched,
            ("NotMatchedBySourceUpdated", UpdateLeg): self.by_source,
            ("NotMatchedBySourceDeleted", DeleteLeg): self.by_source,
            ("Inserted", InsertLeg): self.not_matched,
            ("Updated", UpdateLeg): self.changing,
            ("Deleted", DeleteLeg): self.changing,
        }
        return {
            f"numTargetRows{name}": sum(
                rows.get(leg.statement_id, 0) for leg in legs if isinstance(leg, kind)
            )
            for (name, kind), legs in kinds.items()
        }

    def starting_at(self, first: StatementId) -> MergePlan:
        """The plan with its legs' statement ids counted from ``first``."""
        return self.model_copy(
            update={
                "matched": tuple(_renumbered(leg, first) for leg in self.matched),
                "not_matched": tuple(_renumbered(leg, first) for leg in self.not_matched),
                "by_source": tuple(_renumbered(leg, first) for leg in self.by_source),
            }
        )


LegT = TypeVar("LegT", bound=Leg)


def _renumbered(leg: LegT, first: StatementId) -> LegT:
    return leg.model_copy(update={"statement_id": StatementId(first + leg.statement_id)})
