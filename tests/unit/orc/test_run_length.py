import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.orc.run_length import (
    RUN_MAX,
    decode_unsigned,
    encode_progression,
    encode_unsigned,
)
from tests.unit.orc.streams import signed_runs


@pytest.mark.parametrize(
    ("stream", "values"),
    [
        # The examples of the ORC specification, one for each encoding.
        ("0a2710", [10000] * 5),
        ("5e035ca1ab1edeadbeef", [23713, 43806, 57005, 48879]),
        (
            "8e132b2107d01e001470283" + "23c46505a646e78828c96a0aab4befce8",
            [2030, 2000, 2020, 1000000, *range(2040, 2200, 10)],
        ),
        ("c609020222424246", [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]),
        # A delta of a fixed step, downwards.
        ("c00414" + "03", [20, 18, 16, 14, 12]),
    ],
)
def test_encodings(stream: str, values: list[int]) -> None:
    runs = decode_unsigned(bytes.fromhex(stream) * 2)
    assert runs.values.tolist() == values * 2
    assert runs.index(0, 1) == 1
    assert runs.index(len(stream) // 2, 2) == len(values) + 2
    assert runs.index(len(stream), 0) == 2 * len(values)
    with pytest.raises(ValueError, match="middle"):
        runs.index(1, 0)


@pytest.mark.parametrize("stream", ["0a27", "5e03", "5e035ca1", "8e132b21", "c6", "c60902", "0a"])
def test_cut_streams(stream: str) -> None:
    with pytest.raises(ValueError, match=r"cut short|past the end"):
        decode_unsigned(bytes.fromhex(stream))


@given(st.lists(st.integers(0, 2**33), max_size=40), st.integers(1, 40))
def test_what_is_encoded_comes_back(unit: list[int], times: int) -> None:
    values = np.array(unit * times, np.uint64)
    stream, run_bytes = encode_unsigned(values)
    runs = decode_unsigned(stream)
    assert np.array_equal(runs.values, values)
    for at in range(0, len(values), RUN_MAX):
        assert runs.index(at // RUN_MAX * run_bytes, 0) == at


@given(
    st.integers(-(2**62), 2**62) | st.integers(-300, 300),
    st.sampled_from([0, 1, 2, -1, 1000]),
    st.integers(0, 30) | st.integers(500, 1600),
)
def test_numbers_that_rise_evenly(first: int, step: int, count: int) -> None:
    stream = encode_progression(first, step, count)
    found = np.concatenate([np.zeros(0, np.int64), *signed_runs(stream)])
    assert found.tolist() == [first + step * n for n in range(count)]


@pytest.mark.parametrize(
    ("numbers", "stream"),
    [
        # As ORC's own writers encode them, in files that pyarrow wrote.
        ((0, 0, 512), "c1ff0000"),
        ((536870912, 0, 512), "c1ff" + "8080808004" + "00"),
        ((0, 1, 512), "c1ff0002"),
        ((10000, 1, 272), "c10f" + "a09c01" + "02"),
        ((5000, 0, 5), "0a2710"),
    ],
)
def test_runs_of_the_same_form_as_others_write(numbers: tuple[int, int, int], stream: str) -> None:
    assert encode_progression(*numbers).hex() == stream
