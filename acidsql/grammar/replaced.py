"""A statement's text after its variables were replaced, with the way back to what was written."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Piece(NamedTuple):
    """A piece of the text that begins at ``start``, and lasts up to the next piece.

    ``written`` is the offset of its source: of its first character, or, for a value, of the
    variable that it replaced.
    """

    start: int
    written: int
    is_value: bool


@dataclass(frozen=True, slots=True)
class Replaced:
    """The text of a statement of a script, in which values stand in the place of variables."""

    text: str
    written: str
    pieces: Sequence[Piece]

    @property
    def has_values(self) -> bool:
        """Whether any variable was replaced."""
        return any(piece.is_value for piece in self.pieces)

    def piece_at(self, offset: int) -> Piece:
        """The piece in which an offset of the text lies. The end of the text is in the last one."""
        return self.pieces[self._index(offset)]

    def pieces_between(self, start: int, end: int) -> Iterator[tuple[Piece, int]]:
        """The pieces from ``start`` up to ``end``, each cut off there, and each with its end."""
        for index in range(self._index(start), len(self.pieces)):
            piece = self.pieces[index]
            if piece.start >= end:
                return
            last = index + 1 == len(self.pieces)
            piece_end = end if last else min(end, self.pieces[index + 1].start)
            first = max(piece.start, start)
            if first < piece_end:
                yield Piece(first, self.source_of(first), piece.is_value), piece_end

    def source_of(self, offset: int) -> int:
        """The offset in ``written`` from which the character at an offset of the text came."""
        piece = self.piece_at(offset)
        return piece.written if piece.is_value else piece.written + offset - piece.start

    def _index(self, offset: int) -> int:
        return max(0, bisect_right(self.pieces, offset, key=lambda piece: piece.start) - 1)
