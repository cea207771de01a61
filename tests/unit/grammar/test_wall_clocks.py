"""acidsql/grammar/wall_clocks.py: which constants are wall-clock times, in a text for Spark."""

from __future__ import annotations

import pytest

from acidsql.grammar.place import place_of_piece
from acidsql.grammar.wall_clocks import wall_clocks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TIMESTAMP '2026-03-29 02:30:00'", "TIMESTAMP_NTZ '2026-03-29 02:30:00'"),
        ("timestamp'2026-3-9T2:30'", "timestamp_NTZ'2026-3-9T2:30'"),
        ('TIMESTAMP "2026-03-29"', 'TIMESTAMP_NTZ "2026-03-29"'),
        ("TIMESTAMP r' 2026-03-29 02:30:00.5 '", "TIMESTAMP_NTZ r' 2026-03-29 02:30:00.5 '"),
        ("TIMESTAMP '2026-03-29 02'", "TIMESTAMP_NTZ '2026-03-29 02'"),
        ("TIMESTAMP '2026', TIMESTAMP '2026-3'", "TIMESTAMP_NTZ '2026', TIMESTAMP_NTZ '2026-3'"),
        ("TIMESTAMP '+12026-03-29 02:30:00', TIMESTAMP '-0044-03-15'",
         "TIMESTAMP_NTZ '+12026-03-29 02:30:00', TIMESTAMP_NTZ '-0044-03-15'"),
        ("CAST( '2026-03-29' /* day */ AS Timestamp )",
         "CAST( '2026-03-29' /* day */ AS Timestamp_NTZ )"),
        ("try_cast('2026-03-29 24:00:00' AS timestamp)",
         "try_cast('2026-03-29 24:00:00' AS timestamp_NTZ)"),
        ("'2026-03-29 02:30:00' :: timestamp", "'2026-03-29 02:30:00' :: timestamp_NTZ"),
        ("CAST(TIMESTAMP '2026-03-29' AS string) || 'CAST(''2026-03-29'' AS timestamp)'",
         "CAST(TIMESTAMP_NTZ '2026-03-29' AS string) || 'CAST(''2026-03-29'' AS timestamp)'"),
    ],
)  # fmt: skip
def test_a_time_without_a_zone_is_a_wall_clock_time(text: str, expected: str) -> None:
    assert wall_clocks(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "TIMESTAMP '2026-03-29 02:30:00Z'",
        "TIMESTAMP '2026-03-29 02:30:00 Europe/Berlin'",
        "CAST('2026-03-29 02:30:00+02:00' AS timestamp)",
        "TIMESTAMP '12:30:00'",
        "TIMESTAMP 'now'",
        "TIMESTAMP '2026-03-29' ' 02:30:00'",
        "TIMESTAMP_LTZ '2026-03-29 02:30:00'",
        "TIMESTAMP_NTZ '2026-03-29 02:30:00'",
        "CAST(a AS timestamp), CAST(1 AS timestamp), CAST('2026' || '-03-29' AS timestamp)",
        "CAST('2026-03-29' AS array<timestamp>)",
        "CAST(x => '2026-03-29' AS timestamp)",
        "DATE '2026-03-29'",
        "t.timestamp, timestamp, `timestamp`, a AS timestamp",
        "'2026-03-29' || b::timestamp",
        "TIMESTAMP '2026-03-29",
    ],
)
def test_all_else_stays(text: str) -> None:
    assert wall_clocks(text) == text


def test_the_place_of_what_spark_blames() -> None:
    written = "SELECT a,\n  timestamp '2026-03-29' + b FROM t"
    assert place_of_piece(written, wall_clocks("TIMESTAMP '2026-03-29' + B")) == (2, 3)
