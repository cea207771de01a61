"""SQL text with open sources: an engine fills in a name for each table or frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from acidsql.model.hidden_column import HiddenColumn
from acidsql.model.names import TableName
from acidsql.model.predicate import Predicate
from acidsql.plans.node import Node


class HashKey(Node):
    """An expression over a table, and which of the table's columns it is, or None."""

    text: str
    column: str | None = None


class Sample(Node):
    """The rows of a table whose hash over ``keys`` puts them in bucket ``number`` of ``count``.

    Buckets count from 1. ``version`` is that of Hive's hash. The keys are expressions over the
    table, whose columns may be qualified by ``name``.
    """

    number: int
    count: int
    version: int
    name: str
    keys: tuple[HashKey, ...]


class TableSource(Node):
    """A table of the catalog, as the snapshot shows it.

    ``hidden`` are the hidden columns to add. ``columns`` are the columns of the table that the
    statement may mention: a scan that needs just any column reads one of them. ``sample`` says
    which of the rows are taken. ``with_deleted`` adds those that are deleted.
    """

    kind: Literal["table"] = "table"
    table: TableName
    hidden: tuple[HiddenColumn, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    columns: tuple[str, ...] = ()
    sample: Sample | None = None
    with_deleted: bool = False

    def __str__(self) -> str:
        return str(self.table)


class FrameSource(Node):
    """A DataFrame registered under a name."""

    kind: Literal["frame"] = "frame"
    name: str

    def __str__(self) -> str:
        return self.name


class InputSource(Node):
    """A frame that the engine's job provides: "target" or "source"."""

    kind: Literal["input"] = "input"
    name: str

    def __str__(self) -> str:
        return f"<{self.name}>"


class ViewSource(Node):
    """A view of the catalog: the rows of its query, and the names that it gives their columns.

    The plan has the query itself, so that it does not matter if the view is changed later.
    """

    kind: Literal["view"] = "view"
    view: TableName
    columns: tuple[str, ...]
    rows: SqlText

    def __str__(self) -> str:
        return str(self.view)


AnySource = TableSource | FrameSource | InputSource | ViewSource
Source = Annotated[AnySource, Field(discriminator="kind")]


class SqlText(Node):
    """Pieces of SQL text with sources between them. An engine puts a name in a source's place."""

    parts: tuple[str | Source, ...]

    @classmethod
    def of(cls, *parts: str | Source | SqlText) -> SqlText:
        """The parts one after the other; the parts of nested texts are spliced in."""
        flat: list[str | Source] = []
        for part in parts:
            flat += part.parts if isinstance(part, SqlText) else [part]
        return cls(parts=tuple(flat))

    @classmethod
    def join(cls, separator: str, texts: Iterable[SqlText]) -> SqlText:
        """The texts with the separator between them."""
        flat: list[str | SqlText] = []
        for text in texts:
            flat += [separator, text] if flat else [text]
        return cls.of(*flat)

    @property
    def sources(self) -> Iterator[AnySource]:
        """The sources in text order, those of views behind their view.

        A source that the text uses twice comes twice.
        """
        for part in self.parts:
            if not isinstance(part, str):
                yield part
            if isinstance(part, ViewSource):
                yield from part.rows.sources

    def render(self, name: Callable[[AnySource], str]) -> str:
        """The text with each source replaced by the name that ``name`` returns for it."""
        return "".join(part if isinstance(part, str) else name(part) for part in self.parts)

    def __str__(self) -> str:
        return self.render(str)


def day_text(value: SqlText) -> SqlText:
    """SQL of a date's text, as ISO writes it.

    A cast of the date itself makes 1582-10-15 of 1582-10-10 where spark.sql.legacy.timeParserPolicy
    is LEGACY.
    """
    midnight = SqlText.of("CAST(CAST(", value, " AS timestamp_ntz) AS string)")
    return SqlText.of("replace(", midnight, ", ' 00:00:00', '')")


ViewSource.model_rebuild()
