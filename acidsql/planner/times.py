"""Days and wall-clock times that constants name, in the form in which Spark writes them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

from acidsql.model.value_text import timestamp_text

_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_CLOCK = re.compile(
    _DAY.pattern + r"(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?", re.ASCII
)


def day_text(text: str) -> str:
    """The day that a text names. ValueError if there is none, or the text names a time, too.

    >>> day_text("2026-3-29")
    '2026-03-29'
    """
    year, month, day = map(int, _parts(_DAY, text))
    return datetime.date(year, month, day).isoformat()


def clock_text(text: str) -> str:
    """The time that a text names, midnight for a day. ValueError if there is none.

    >>> clock_text("2026-03-29T02:30:00.500"), clock_text("2026-03-29")
    ('2026-03-29 02:30:00.5', '2026-03-29 00:00:00')
    """
    *whole, fraction = _parts(_CLOCK, text)
    year, month, day, hour, minute, second = (int(part or 0) for part in whole)
    micros = int((fraction or "").ljust(6, "0"))
    return timestamp_text(datetime.datetime(year, month, day, hour, minute, second, micros))


def _parts(form: re.Pattern[str], text: str) -> Sequence[str]:
    found = form.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} names no day or time")
    return found.groups()
