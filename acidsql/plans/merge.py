"""The plan of a MERGE."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from acidsql.model.ids import StatementId
from acidsql.model.names import TableName
from acidsql.model.predicate import Predicate
from acidsql.plans.node import Node
from acidsql.plans.sql_text import SqlText
from acidsql.plans.update import SetColumn


class UpdateLeg(Node):
    """Update the matched rows for which ``condition`` holds: a delete delta and a delta."""

    kind: Literal["update"] = "update"
    statement_id: StatementId
    condition: SqlText | None
    assignments: tuple[SetColumn, ...]


class DeleteLeg(Node):
    """Delete the matched rows for which ``condition`` holds: a delete delta."""

    kind: Literal["delete"] = "delete"
    statement_id: StatementId
    condition: SqlText | None


class InsertLeg(Node):
    """Insert the source rows without a match for which ``condition`` holds: a delta."""

    kind: Literal["insert"] = "insert"
    statement_id: StatementId
    condition: SqlText | None
    values: tuple[SetColumn, ...]


MatchedLeg = Annotated[UpdateLeg | DeleteLeg, Field(discriminator="kind")]


class KeyPair(Node):
    """An equality of the ON condition between a target column and a source column."""

    target: str
    source: str


class MergePlan(Node):
    """Join one scan of the target with the source. Each leg writes under its own statement id.

    ``matched`` has the legs in the order of the text: the first leg whose condition holds acts on a
    row. ``source`` is a query, whose columns the expressions know under ``source_alias``. With
    ``keys``, the least and the greatest source key prune the scan of the target.
    """

    kind: Literal["merge"] = "merge"
    table: TableName
    alias: str
    source: SqlText
    source_alias: str
    on: SqlText
    matched: tuple[MatchedLeg, ...]
    not_matched: InsertLeg | None
    keys: tuple[KeyPair, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    row_id: bool = False

    def starting_at(self, first: StatementId) -> MergePlan:
        """The plan with its legs' statement ids counted from ``first``."""
        matched = tuple(leg.model_copy(update=_renumbered(leg, first)) for leg in self.matched)
        leg = self.not_matched
        not_matched = leg and leg.model_copy(update=_renumbered(leg, first))
        return self.model_copy(update={"matched": matched, "not_matched": not_matched})


def _renumbered(
    leg: UpdateLeg | DeleteLeg | InsertLeg, first: StatementId
) -> dict[str, StatementId]:
    return {"statement_id": StatementId(first + leg.statement_id)}
