"""acidsql/process/threads.py"""

from __future__ import annotations

import threading

import pytest

from acidsql.process.threads import in_threads


def test_results_keep_the_order_of_their_items():
    second = threading.Event()

    def work(number: int) -> int:
        if number == 1:
            assert second.wait(5)  # ends after the second one
        else:
            second.set()
        return number * 10

    assert in_threads(work, [1, 2], 2) == [10, 20]
    assert in_threads(work, [], 2) == []


@pytest.mark.parametrize(("count", "here"), [(1, True), (2, False)])
def test_a_single_item_starts_no_thread(count, here):
    places = in_threads(lambda _: threading.current_thread(), range(count), None)
    assert (threading.current_thread() in places) is here


@pytest.mark.parametrize("numbers", [[1], [1, 2, 3]])
def test_the_first_error_is_raised(numbers):
    def work(number: int) -> int:
        raise OSError(number)

    with pytest.raises(OSError, match="1"):
        in_threads(work, numbers, 2)
