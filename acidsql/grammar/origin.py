"""Where a statement comes from, for errors that are found after parsing."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.errors import AnalysisError, SqlError
from acidsql.grammar.excerpt import show_place
from acidsql.grammar.place import place_of_name, place_of_piece
from acidsql.grammar.replaced import Replaced


@dataclass(frozen=True, slots=True)
class Origin:
    """A statement as it was ``written``, its text with variables replaced, and its place."""

    written: str
    text: str | Replaced
    line: int = 1
    column: int = 1

    def place(self, error: SqlError) -> None:
        """Give the error line, column and excerpt, as far as it has none."""
        if error.line is None:
            error.line, error.column = self._found(error)
        show_place(error, self.written, self.line, self.column)

    def _found(self, error: SqlError) -> tuple[int, int]:
        place, piece = (self.line, self.column), error.piece
        found = place_of_piece(self.text, piece, *place, error.piece_number) if piece else None
        parts = error.parts if isinstance(error, AnalysisError) else ()
        return found or place_of_name(self.text, parts, *place)
