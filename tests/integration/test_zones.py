"""Time zones of files: their clocks, compared with those of Java."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from acidsql.orc.zones import clock_seconds

FIRST, LAST = (
    int(np.datetime64(day, "s").astype(np.int64)) for day in ("0001-01-01", "9999-12-31")
)
RECENT = range(-3_000_000_000, 5_000_000_000)
"""1874 to 2128."""

ZONES = [
    "Europe/Berlin",
    "Europe/Dublin",
    "America/Los_Angeles",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kolkata",
    "Africa/Monrovia",
    "America/Sao_Paulo",
    "Etc/GMT+5",
]


@pytest.mark.parametrize("zone", ZONES)
def test_clocks_of_zones_are_those_of_java(spark: Any, zone: str) -> None:
    numbers = np.random.default_rng(20261130)
    instants = np.concatenate(
        [numbers.integers(FIRST, LAST, 50), numbers.integers(RECENT.start, RECENT.stop, 150)]
    )
    java = spark._jvm.java.util.TimeZone.getTimeZone(zone)
    expected = [i + java.getOffset(i * 1000) // 1000 for i in instants.tolist()]
    assert clock_seconds(instants, zone).tolist() == expected
