"""Clocks of zones, where pyarrow shows others than Java does."""

from __future__ import annotations

import numpy as np
import pytest

from acidsql.orc.zones import clock_seconds, instant_of, mean_clock_seconds

HOUR = 3600


def clock(instant: str, zone: str) -> str:
    seconds = np.array([np.datetime64(instant, "s")]).astype(np.int64)
    return str(clock_seconds(seconds, zone).astype("datetime64[s]")[0])


@pytest.mark.parametrize(
    ("instant", "zone", "shown"),
    [
        ("2020-07-01T10:00:00", "Europe/Berlin", "2020-07-01T12:00:00"),
        ("2050-07-01T10:00:00", "Europe/Berlin", "2050-07-01T12:00:00"),
        ("9999-01-01T10:00:00", "Europe/Berlin", "9999-01-01T11:00:00"),
        ("9998-07-01T10:00:00", "America/New_York", "9998-07-01T06:00:00"),
        ("1850-07-01T10:00:00", "Europe/Berlin", "1850-07-01T11:00:00"),
        ("0010-07-01T10:00:00", "America/New_York", "0010-07-01T05:00:00"),
        ("2038-03-28T00:59:59", "Europe/Berlin", "2038-03-28T01:59:59"),
        ("2038-03-28T01:00:00", "Europe/Berlin", "2038-03-28T03:00:00"),
        ("2011-12-30T09:59:59", "Pacific/Apia", "2011-12-29T23:59:59"),
        ("2011-12-30T10:00:00", "Pacific/Apia", "2011-12-31T00:00:00"),
        ("1850-01-01T00:00:00", "Etc/GMT+5", "1849-12-31T19:00:00"),
        ("2020-07-01T10:00:00", "GMT+02:00", "2020-07-01T12:00:00"),
        ("0001-07-01T10:00:00", "-03:30", "0001-07-01T06:30:00"),
    ],
)
def test_clocks_as_java_shows_them(instant, zone, shown):
    assert clock(instant, zone) == shown


@pytest.mark.parametrize(
    ("instant", "zone", "shown"),
    [
        ("0000-12-31T23:06:32", "Europe/Berlin", "0001-01-01T00:00:00"),
        ("1893-03-31T23:06:31", "Europe/Berlin", "1893-03-31T23:59:59"),
        ("1893-03-31T23:06:32", "Europe/Berlin", "1893-04-01T00:06:32"),
        ("1850-07-01T10:00:00", "+01:00", "1850-07-01T11:00:00"),
        ("2050-07-01T10:00:00", "Europe/Berlin", "2050-07-01T12:00:00"),
    ],
)
def test_a_place_had_its_mean_time(instant, zone, shown):
    seconds = np.array([np.datetime64(instant, "s")]).astype(np.int64)
    assert str(mean_clock_seconds(seconds, zone).astype("datetime64[s]")[0]) == shown


def test_the_instant_of_a_clock():
    assert instant_of(1_420_070_400, "Europe/Berlin") == 1_420_070_400 - HOUR
    assert instant_of(1_420_070_400, "America/New_York") == 1_420_070_400 + 5 * HOUR


@pytest.mark.parametrize(
    "zone", ["Nowhere/Land", "", "../etc/passwd", "a\0b", "GMT+99:00", "GMT+-2", "+٢:٠٠"]
)
def test_a_zone_that_is_not_known(zone):
    with pytest.raises(ValueError, match="is not known"):
        clock_seconds(np.array([0]), zone)
