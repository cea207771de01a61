"""acidsql/grammar/place.py: where in a statement a piece of it stands."""

from __future__ import annotations

import time

from acidsql.grammar.place import place_of_piece


def test_a_long_piece_takes_no_longer_than_a_statement() -> None:
    piece = f"CASE {' '.join(f'WHEN a = {n} THEN {n}' for n in range(4000))} END"
    before_s = time.process_time()
    assert place_of_piece(f"SELECT 1, {piece} FROM t", piece) == (1, 11)
    assert time.process_time() - before_s < 10
