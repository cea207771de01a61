"""acidsql/service/timetable.py; its doctest shows the usual way."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

import acidsql
from acidsql.errors import ConfigError
from acidsql.service.timetable import ServiceTimes, Timetable
from acidsql.settings import KNOWN, kind_of


def test_hastened_work_is_due_at_once_and_then_after_the_interval():
    timetable = Timetable(10, 10)
    assert not timetable.is_due(0)
    timetable.hasten(3)
    assert [now_s for now_s in range(3, 30) if timetable.is_due(now_s)] == [3, 13, 23]


def test_a_late_question_moves_the_times_after_it():
    timetable = Timetable(0, 10)
    assert [now_s for now_s in (0, 25, 26, 34, 35) if timetable.is_due(now_s)] == [0, 25, 35]


@pytest.mark.parametrize("seconds", [-1.0, math.inf, math.nan])
def test_what_is_no_time(seconds: float):
    with pytest.raises(ConfigError, match="work_s must be a number of seconds"):
        ServiceTimes(work_s=seconds)


def test_a_service_works_though_all_times_mean_never(tmp_path: Path):
    never = {key: "9223372036854775807ms" for key in KNOWN if kind_of(key) == "TIME"}
    with acidsql.connect(tmp_path, config=never) as session, session.service() as service:
        ends_s = time.monotonic() + 60
        while not all(part.status.rounds for part in service.parts if part.name != "housekeeper"):
            assert time.monotonic() < ends_s
            time.sleep(0.002)
        session.run_housekeeper()
        assert not any(part.join(0.05) for part in service.parts), "a thread has ended"
        assert session.failures == {}
