"""SQL text with the frames it reads left open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from acidsql.model.names import TableName
from acidsql.model.predicate import Predicate
from acidsql.plans.node import Node


class TableSource(Node):
    """A table of the catalog, as the snapshot shows it.

    ``row_id`` adds the column ``row__id``. ``columns`` are those of its columns that the statement
    may mention, as far as known: a scan reads one of them where it needs any.
    """

    kind: Literal["table"] = "table"
    table: TableName
    row_id: bool = False
    predicates: tuple[Predicate, ...] = ()
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return str(self.table)


class FrameSource(Node):
    """A DataFrame registered under a name."""

    kind: Literal["frame"] = "frame"
    name: str

    def __str__(self) -> str:
        return self.name


class InputSource(Node):
    """A frame that the job itself provides: "target" or "source"."""

    kind: Literal["input"] = "input"
    name: str

    def __str__(self) -> str:
        return f"<{self.name}>"


Source = Annotated[TableSource | FrameSource | InputSource, Field(discriminator="kind")]


class SqlText(Node):
    """Stretches of SQL text and, between them, the sources whose names stand there."""

    parts: tuple[str | Source, ...]

    @classmethod
    def of(cls, *parts: str | Source | SqlText) -> SqlText:
        """The parts in a row, nested texts spliced in."""
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
    def sources(self) -> Iterator[TableSource | FrameSource | InputSource]:
        """The sources in text order; one that stands there twice comes twice."""
        return (part for part in self.parts if not isinstance(part, str))

    def render(self, name: Callable[[TableSource | FrameSource | InputSource], str]) -> str:
        """The text with each source replaced by the name it is given."""
        return "".join(part if isinstance(part, str) else name(part) for part in self.parts)

    def __str__(self) -> str:
        return self.render(str)
