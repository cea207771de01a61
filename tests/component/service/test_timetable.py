"""acidsql/service/timetable.py; its doctest shows the usual way."""

from __future__ import annotations

from acidsql.service.timetable import Timetable


def test_hastened_work_is_due_at_once_and_then_after_the_interval():
    timetable = Timetable(10, 10)
    assert not timetable.is_due(0)
    timetable.hasten(3)
    assert [now_s for now_s in range(3, 30) if timetable.is_due(now_s)] == [3, 13, 23]


def test_a_late_question_moves_the_times_after_it():
    timetable = Timetable(0, 10)
    assert [now_s for now_s in (0, 25, 26, 34, 35) if timetable.is_due(now_s)] == [0, 25, 35]
